// The chart page at `/`: the files of src/web/, and uPlot from its package. It is a client like any
// app, and gets nothing that the mobile API does not give everyone.
//
// All files but three have URLs with a hash of all files, so browsers may cache them permanently,
// and no page is assembled from two versions. The page's policy allows only this service.

import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { ServiceError } from '../../domain/errors.ts'
import type { Call } from '../call/call.ts'
import { anything } from '../routes/input.ts'
import { escapeHtml } from './html.ts'
import { COMMENT, joinModules } from './joined-modules.ts'
import { kept } from './kept.ts'
import { answerFile, nameOf, staticFile } from './static-file.ts'
import type { StaticFile } from './static-file.ts'
import { OpenRoutes, file } from '../routes/routes.ts'
import type { RouteTable } from '../routes/routes.ts'

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

/** Its modules become one script, but for those that it imports later. */
const ENTRY = new URL('../../web/page.js', import.meta.url)

/** They become one style sheet, without comments. */
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

interface WebPage {
  readonly page: StaticFile
  readonly worker: StaticFile
  readonly manifest: StaticFile
  readonly version: string
  /** By name. */
  readonly files: ReadonlyMap<string, StaticFile>
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
  const showFile = async (call: Call) => answerKept(call, await read())

  open.add('GET /',                     anything, file(show('page')))
  open.add('GET /service-worker.js',    anything, file(show('worker')))
  open.add('GET /manifest.webmanifest', anything, file(show('manifest')))
  open.add('GET /web/:version/:file',   anything, file(showFile))
  return open
}

/** The policy for the page, and for what its worker may request. */
function answerNow(call: Call, sent: StaticFile): void {
  call.ctx.set('Content-Security-Policy', PAGE_POLICY)
  answerFile(call, sent, ASKED_EACH_TIME)
}

function answerKept(call: Call, { version, files }: WebPage): void {
  const found = files.get(call.parameters['file'] ?? '')
  const isCurrent = call.parameters['version'] === version
  if (found === undefined || !isCurrent) throw new ServiceError('not_found')
  answerFile(call, found, FOR_EVER)
}

async function readPage({ appName, command }: PageNames): Promise<WebPage> {
  const [page = '', worker = '', manifest = ''] = await Promise.all(
    [PAGE, WORKER, MANIFEST].map((url) => readFile(url, 'utf8')),
  )
  const scripts = Array.from(await joinModules(ENTRY), ([name, text]): [string, Buffer] => {
    return [name, Buffer.from(text)]
  })
  const styles = await Promise.all(STYLES.map((url) => readFile(url, 'utf8')))
  const others = OTHER_FILES.map(async (url): Promise<[string, Buffer]> => {
    return [nameOf(url), await readFile(url)]
  })
  const joined = styles.join('').replaceAll(COMMENT, '')
  const style: [string, Buffer] = ['page.css', Buffer.from(joined)]
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
    return staticFile(
      nameOf(url),
      complete(text).replaceAll('{{app}}', () => name),
    )
  }
  const files = contents.map(async ([name, content]): Promise<[string, StaticFile]> => {
    return [name, await staticFile(name, content)]
  })
  return {
    page: await make(PAGE, page),
    worker: await make(WORKER, worker),
    manifest: await make(MANIFEST, manifest),
    version,
    files: new Map(await Promise.all(files)),
  }
}
