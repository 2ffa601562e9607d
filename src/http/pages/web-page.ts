// The chart page at `/`: the files of src/web/, and uPlot from its package. It is a client like any
// app, and gets nothing that the mobile API does not give everyone.
//
// All files but three have URLs with a hash of all files, so browsers may cache them permanently,
// and no page is assembled from two versions. The page's policy allows only this service.

import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import { ServiceError } from '../../domain/errors.ts'
import type { Call } from '../call.ts'
import { answerUnchanged, entityTag, isKnown } from '../call.ts'
import { anything } from '../input.ts'
import { escapeHtml } from './html.ts'
import { joinModules } from './joined-modules.ts'
import { kept } from './kept.ts'
import { OpenRoutes } from '../routes.ts'
import type { RouteTable } from '../routes.ts'

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

/** Its modules become one script, but for those that it imports later. */
const ENTRY = new URL('../../web/page.js', import.meta.url)

/** They become one style sheet. */
const STYLES: readonly URL[] = [
  new URL('../../web/page.css', import.meta.url),
  new URL('../../web/chart.css', import.meta.url),
  new URL('../../web/settings.css', import.meta.url),
]

const OTHER_FILES: readonly URL[] = [
  new URL('../../web/theme.js', import.meta.url),
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
  readonly appName: string
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

async function readPage({ appName, command }: PageNames): Promise<WebPage> {
  const [page = '', worker = '', manifest = ''] = await Promise.all(
    [PAGE, WORKER, MANIFEST].map((url) => readFile(url, 'utf8')),
  )
  const scripts = Array.from(await joinModules(ENTRY), ([name, text]): [string, Buffer] => {
    return [name, Buffer.from(text)]
  })
  const styles = await Promise.all(STYLES.map((url) => readFile(url)))
  const others = OTHER_FILES.map(async (url): Promise<[string, Buffer]> => {
    return [nameOf(url), await readFile(url)]
  })
  const style: [string, Buffer] = ['page.css', Buffer.concat(styles)]
  const contents = [...scripts, style, ...(await Promise.all(others))]
  const bytes = contents.map(([, content]) => content)
  const version = hash(
    'sha256',
    Buffer.concat([...bytes, Buffer.from(page + worker + appName + command)]),
  ).slice(0, 12)
  const paths = contents.map(([name]) => `web/${version}/${name}`)
  const complete = (text: string) =>
    text
      .replaceAll('{{version}}', version)
      .replace('{{files}}', ['manifest.webmanifest', ...paths].join(' '))
      .replaceAll('{{command}}', command)
  const make = (url: URL, text: string) => {
    const name = url === MANIFEST ? JSON.stringify(appName).slice(1, -1) : escapeHtml(appName)
    return webFile(nameOf(url), Buffer.from(complete(text).replaceAll('{{app}}', () => name)))
  }
  const files = contents.map(async ([name, content]): Promise<[string, WebFile]> => {
    return [name, await webFile(name, content)]
  })
  return {
    page: await make(PAGE, page),
    worker: await make(WORKER, worker),
    manifest: await make(MANIFEST, manifest),
    version,
    files: new Map(await Promise.all(files)),
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
