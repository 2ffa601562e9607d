// The chart page at `/`: the files of src/web/ as they are, and uPlot from its package. It is a
// client like any app, and gets nothing that the mobile API does not give everyone.
//
// All files but three have URLs with a hash of all files, so browsers may cache them permanently,
// and no page is assembled from two versions. The page's policy allows only this service.

import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import { ServiceError } from '../../domain/errors.ts'
import type { Call } from '../answers/call.ts'
import { answerUnchanged, entityTag, isKnown } from '../answers/call.ts'
import { anything } from '../requests/input.ts'
import { escapeHtml } from './html.ts'
import { kept } from './kept.ts'
import { OpenRoutes } from '../requests/routes.ts'
import type { RouteTable } from '../requests/routes.ts'

const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const FOR_EVER = 'public, max-age=31536000, immutable'
const ASKED_EACH_TIME = 'public, no-cache'

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  webmanifest: 'application/manifest+json',
}

/** What every view needs, in the order in which browsers are told to preload it. */
const MODULES: readonly URL[] = [
  new URL('../../web/page.js', import.meta.url),
  new URL('../../web/api.js', import.meta.url),
  new URL('../../web/dashboard-view.js', import.meta.url),
  new URL('../../web/dashboard-tools.js', import.meta.url),
  new URL('../../web/sensor-view.js', import.meta.url),
  new URL('../../web/fleet.js', import.meta.url),
  new URL('../../web/fleet-order.js', import.meta.url),
  new URL('../../web/history.js', import.meta.url),
  new URL('../../web/chart.js', import.meta.url),
  new URL('../../web/chart-columns.js', import.meta.url),
  new URL('../../web/chart-controls.js', import.meta.url),
  new URL('../../web/chart-gestures.js', import.meta.url),
  new URL('../../web/clock.js', import.meta.url),
  new URL('../../web/command-box.js', import.meta.url),
  new URL('../../web/date-picker.js', import.meta.url),
  new URL('../../web/element.js', import.meta.url),
  new URL('../../web/event-stream.js', import.meta.url),
  new URL('../../web/first-run.js', import.meta.url),
  new URL('../../web/format.js', import.meta.url),
  new URL('../../web/gaps.js', import.meta.url),
  new URL('../../web/history-loader.js', import.meta.url),
  new URL('../../web/kept.js', import.meta.url),
  new URL('../../web/last-days.js', import.meta.url),
  new URL('../../web/long-list.js', import.meta.url),
  new URL('../../web/history-sheet.js', import.meta.url),
  new URL('../../web/locale.js', import.meta.url),
  new URL('../../web/names.js', import.meta.url),
  new URL('../../web/period.js', import.meta.url),
  new URL('../../web/read-histories.js', import.meta.url),
  new URL('../../web/readout.js', import.meta.url),
  new URL('../../web/sensor-card.js', import.meta.url),
  new URL('../../web/sensor-head.js', import.meta.url),
  new URL('../../web/sign-in.js', import.meta.url),
  new URL('../../web/sign-out.js', import.meta.url),
  new URL('../../web/sparkline.js', import.meta.url),
  new URL('../../web/theme-button.js', import.meta.url),
]

const OTHER_FILES: readonly URL[] = [
  new URL('../../web/sign-in-view.js', import.meta.url),
  new URL('../../web/account-view.js', import.meta.url),
  new URL('../../web/link-view.js', import.meta.url),
  new URL('../../web/history-table.js', import.meta.url),
  new URL('../../web/compare-view.js', import.meta.url),
  new URL('../../web/sensor-edit.js', import.meta.url),
  new URL('../../web/sensor-legend.js', import.meta.url),
  new URL('../../web/sensor-picker.js', import.meta.url),
  new URL('../../web/theme.js', import.meta.url),
  new URL('../../web/page.css', import.meta.url),
  new URL('../../web/chart.css', import.meta.url),
  new URL('../../web/icon.svg', import.meta.url),
  new URL('../../web/icon-180.png', import.meta.url),
  new URL('../../web/icon-192.png', import.meta.url),
  new URL('../../web/icon-512.png', import.meta.url),
  new URL(import.meta.resolve('uplot/dist/uPlot.iife.min.js')),
]

/** These have fixed URLs and contain the version. */
const PAGE = new URL('../../web/index.html', import.meta.url)
const WORKER = new URL('../../web/service-worker.js', import.meta.url)
const MANIFEST = new URL('../../web/manifest.webmanifest', import.meta.url)

interface WebFile {
  readonly type: string
  readonly tag: string
  readonly plain: Buffer
  /** `undefined`: compression is not worth it. */
  readonly zipped: Buffer | undefined
}

interface WebPage {
  readonly page: WebFile
  readonly worker: WebFile
  readonly manifest: WebFile
  readonly version: string
  /** By name. */
  readonly files: ReadonlyMap<string, WebFile>
}

export interface PageNames {
  /** What the operator calls the service. */
  readonly app: string
  /** How the command line is called. */
  readonly command: string
}

// prettier-ignore
export function webPageRouter(names: PageNames): RouteTable {
  const open = new OpenRoutes('')
  const read = kept(() => readPage(names))
  const show = (name: 'page' | 'worker' | 'manifest') => async (call: Call) =>
    answerNow(call, (await read())[name])
  const showFile = async (call: Call) => answerFile(call, await read())

  open.add('GET /',                     anything, show('page'))
  open.add('GET /service-worker.js',    anything, show('worker'))
  open.add('GET /manifest.webmanifest', anything, show('manifest'))
  open.add('GET /web/:version/:file',   anything, showFile)
  return open
}

/** The policy for the page, and for what its worker may request. */
function answerNow({ ctx }: Call, file: WebFile): void {
  ctx.set('Content-Security-Policy', PAGE_POLICY)
  ctx.set('Cache-Control', ASKED_EACH_TIME)
  if (isKnown(ctx, file.tag)) answerUnchanged(ctx, file.tag)
  else send(ctx, file)
}

function answerFile({ ctx, parameters }: Call, { version, files }: WebPage): void {
  const file = files.get(parameters['file'] ?? '')
  if (file === undefined || parameters['version'] !== version) throw new ServiceError('not_found')
  ctx.set('Cache-Control', FOR_EVER)
  if (isKnown(ctx, file.tag)) answerUnchanged(ctx, file.tag)
  else send(ctx, file)
}

function send(ctx: Call['ctx'], { type, tag, plain, zipped }: WebFile): void {
  ctx.set('ETag', tag)
  ctx.set('Content-Type', type)
  ctx.vary('Accept-Encoding')
  const isZipped = zipped !== undefined && ctx.acceptsEncodings('gzip', 'identity') === 'gzip'
  if (isZipped) ctx.set('Content-Encoding', 'gzip')
  ctx.body = isZipped ? zipped : plain
}

async function readPage({ app, command }: PageNames): Promise<WebPage> {
  const urls = [...MODULES, ...OTHER_FILES]
  const [page = '', worker = '', manifest = ''] = await Promise.all(
    [PAGE, WORKER, MANIFEST].map((url) => readFile(url, 'utf8')),
  )
  const bytes = await Promise.all(urls.map((url) => readFile(url)))
  const version = hash(
    'sha256',
    Buffer.concat([...bytes, Buffer.from(page + worker + app + command)]),
  ).slice(0, 12)
  const pathOf = (url: URL) => `web/${version}/${nameOf(url)}`
  const preloads = MODULES.map((url) => `<link rel="modulepreload" href="${pathOf(url)}" />`)
  const complete = (text: string) =>
    text
      .replaceAll('{{version}}', version)
      .replace('{{modulepreloads}}', preloads.join('\n    '))
      .replace('{{files}}', ['manifest.webmanifest', ...urls.map(pathOf)].join(' '))
  const make = (url: URL, text: string) => {
    const name = url === MANIFEST ? JSON.stringify(app).slice(1, -1) : escapeHtml(app)
    const named = complete(text).replaceAll('{{app}}', () => name)
    return webFile(nameOf(url), Buffer.from(named.replaceAll('{{command}}', command)))
  }
  return {
    page: await make(PAGE, page),
    worker: await make(WORKER, worker),
    manifest: await make(MANIFEST, manifest),
    version,
    files: new Map(
      await Promise.all(
        urls.map(async (url, at): Promise<[string, WebFile]> => {
          const name = nameOf(url)
          return [name, await webFile(name, bytes[at] ?? Buffer.alloc(0))]
        }),
      ),
    ),
  }
}

async function webFile(name: string, plain: Buffer): Promise<WebFile> {
  const type = TYPES[name.replace(/^.*\./, '')] ?? ''
  const zip = promisify(gzip)
  const isText = type !== 'image/png'
  const zipped = isText ? await zip(plain, { level: constants.Z_BEST_COMPRESSION }) : undefined
  return { type, tag: entityTag(plain.toString('latin1')), plain, zipped }
}

function nameOf({ pathname }: URL): string {
  return pathname.replace(/^.*\//, '')
}
