// The description of the API for programs, and a page that shows it to people. The page is Swagger
// UI from its package, with nothing from elsewhere; it may load from and call only this service. It
// needs no token and is the same for everyone.

import { readFile } from 'node:fs/promises'
import { ServiceError } from '../../domain/errors.ts'
import { answerJson, answerUnchanged, entityTag, isKnown } from '../call.ts'
import type { Call } from '../call.ts'
import { anything } from '../input.ts'
import { DOCS_STYLE } from './docs-style.ts'
import { explainProblem, listProblems } from './explain-problem.ts'
import { answerPage, escapeHtml, linksTo, PLAIN_STYLE } from './html.ts'
import { kept } from './kept.ts'
import { OpenRoutes } from '../routes.ts'
import type { RouteRow, RouteTable } from '../routes.ts'

/** The OpenAPI documents. */
export interface ApiDescription {
  /** Of all rows of the route tables. */
  readonly describe: (rows: readonly RouteRow[], about: AboutApi) => object
  /** How each other document is made from it, by the name of its file. */
  readonly parts: ReadonlyMap<string, (whole: object) => object>
}

export interface AboutApi {
  readonly version: string
  /** Where clients reach the API. */
  readonly apiUrl: string
  /** What the operator calls the service. */
  readonly appName: string
}

const CACHED_FOR_A_DAY = 'public, max-age=86400'

const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const pageOf = (appName: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API · ${escapeHtml(appName)}</title>
<link rel="stylesheet" href="docs/docs.css">
<link rel="icon" type="image/png" href="docs/favicon-32x32.png">
</head>
<body>
${linksTo('./')}
<main id="page"></main>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`

/**
 * Swagger UI is dark for a class of the document, not for people whose system is, or who have
 * chosen so in the settings of the page. Nor does it show
 * samples by itself: they go above the responses of their operation.
 */
const START = `const dark = matchMedia('(prefers-color-scheme: dark)')
const chosen = localStorage.getItem('thermolog.theme')
const showScheme = () => {
  const isDark = chosen === null ? dark.matches : chosen === 'dark'
  document.documentElement.classList.toggle('dark-mode', isDark)
  document.documentElement.style.colorScheme = isDark ? 'dark' : 'light'
}
dark.addEventListener('change', showScheme)
showScheme()

const samples = () => ({
  wrapComponents: {
    responses: (Responses, { React, specSelectors }) => (props) => {
      const place = ['paths', props.path, props.method, 'x-codeSamples']
      const found = specSelectors.specJson().getIn(place)?.toJS() ?? []
      const shown = found.map(({ label, source }) =>
        React.createElement('details', { key: label, className: 'sample' },
          React.createElement('summary', null, label),
          React.createElement('pre', { tabIndex: 0 }, source)))
      return React.createElement('div', null, ...shown, React.createElement(Responses, props))
    },
  },
})

SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#page',
  deepLinking: true,
  displayRequestDuration: true,
  // The default has numbers that are too dark.
  syntaxHighlight: { theme: 'monokai' },
  validatorUrl: null,
  plugins: [samples],
})
`

const ABOUT_DOCUMENTS =
  '<p>All calls, as <a href="docs">API</a> shows them; and each API alone, to generate a client ' +
  'from. Those in OpenAPI 3.0 are for generators that read nothing newer.</p>'

interface PackagedFile {
  readonly type: string
  readonly read: () => Promise<Buffer>
}

/** Files that come with the program: of Swagger UI, and what devices have to do. */
const PACKAGED: ReadonlyMap<string, PackagedFile> = new Map([
  packaged('swagger-ui-bundle.js', import.meta.resolve('swagger-ui-dist/swagger-ui-bundle.js')),
  packaged('swagger-ui.css', import.meta.resolve('swagger-ui-dist/swagger-ui.css')),
  // Text, which browsers show.
  packaged('daemon.md', new URL('../../../docs/daemon.md', import.meta.url).href, 'text'),
  packaged('favicon-32x32.png', import.meta.resolve('swagger-ui-dist/favicon-32x32.png')),
])

const OWN: ReadonlyMap<string, string> = new Map([
  ['start.js', START],
  ['plain.css', PLAIN_STYLE],
  ['docs.css', DOCS_STYLE],
])

/** @param describe makes the whole document; called once, on the first request */
// prettier-ignore
export function documentsRouter(
  describe: () => object,
  parts: ApiDescription['parts'],
  appName: string,
): RouteTable {
  const open = new OpenRoutes('')

  open.add('GET /problems',          anything, listProblems(appName))
  open.add('GET /problems/:code',    anything, explainProblem(appName))
  open.add('GET /openapi',           anything, listDocuments([...parts.keys()], appName))
  open.add('GET /openapi.json',      anything, showDocument(describe))
  open.add('GET /openapi/:document', anything, showPart(describe, parts))
  open.add('GET /docs',              anything, showPage(appName))
  open.add('GET /docs/:file',        anything, showFile)
  return open
}

function listDocuments(parts: readonly string[], appName: string) {
  const items = ['openapi.json', ...parts.map((name) => `openapi/${name}`)].map(
    (path) => `<li><a href="${path}">${path}</a></li>`,
  )
  const content = `${ABOUT_DOCUMENTS}<ul>${items.join('')}</ul>`
  return (call: Call): void => answerPage(call, { title: 'OpenAPI', appName }, content)
}

function showDocument(make: () => object) {
  let known: { readonly text: string; readonly tag: string } | undefined
  return (call: Call): void => {
    if (known === undefined) {
      const text = JSON.stringify(make())
      known = { text, tag: entityTag(text) }
    }
    const { ctx } = call
    const { text, tag } = known
    ctx.set('Cache-Control', 'public, no-cache')
    if (isKnown(ctx, tag)) return answerUnchanged(ctx, tag)
    ctx.set('ETag', tag)
    answerJson(call, 200, text)
  }
}

function showPart(describe: () => object, parts: ApiDescription['parts']) {
  const shown = new Map(
    Array.from(parts, ([name, make]) => [name, showDocument(() => make(describe()))]),
  )
  return (call: Call): void => {
    const show = shown.get(call.parameters['document'] ?? '')
    if (show === undefined) throw new ServiceError('not_found')
    show(call)
  }
}

function showPage(appName: string) {
  const page = pageOf(appName)
  return ({ ctx }: Call): void => {
    ctx.set('Content-Security-Policy', PAGE_POLICY)
    ctx.set('Cache-Control', 'public, no-cache')
    ctx.type = 'html'
    ctx.body = page
  }
}

async function showFile({ ctx, parameters }: Call): Promise<void> {
  const name = parameters['file'] ?? ''
  const packagedFile = PACKAGED.get(name)
  const body = OWN.get(name) ?? (await packagedFile?.read())
  if (body === undefined) throw new ServiceError('not_found')
  ctx.set('Cache-Control', CACHED_FOR_A_DAY)
  ctx.type = packagedFile?.type ?? name.replace(/^.*\./, '')
  ctx.body = body
}

function packaged(
  name: string,
  url: string,
  type = name.replace(/^.*\./, ''),
): [string, PackagedFile] {
  return [name, { type, read: kept(() => readFile(new URL(url))) }]
}
