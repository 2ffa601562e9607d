// The description of the API for programs, and a page that shows it to people. The page is Swagger
// UI from its package, with nothing from elsewhere; it may load from and call only this service. It
// needs no token and is the same for everyone.

import { readFile } from 'node:fs/promises'
import { ServiceError } from '../../domain/errors.ts'
import type { Call } from '../call/call.ts'
import { anything } from '../routes/input.ts'
import { DOCS_STYLE } from './docs-style.ts'
import { explainProblem, listProblems } from './explain-problem.ts'
import { answerPage, escapeHtml, linksTo, PLAIN_STYLE } from './html.ts'
import { kept } from './kept.ts'
import { answerFile, nameOf, staticFile } from './static-file.ts'
import type { StaticFile } from './static-file.ts'
import { OpenRoutes, file, small } from '../routes/routes.ts'
import type { RouteRow, RouteTable } from '../routes/routes.ts'

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

const ASKED_EACH_TIME = 'public, no-cache'
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

/** Files that come with the program: of Swagger UI, and what devices have to do. */
const PACKAGED: readonly URL[] = [
  new URL(import.meta.resolve('swagger-ui-dist/swagger-ui-bundle.js')),
  new URL(import.meta.resolve('swagger-ui-dist/swagger-ui.css')),
  new URL(import.meta.resolve('swagger-ui-dist/favicon-32x32.png')),
  new URL('../../../docs/daemon.md', import.meta.url),
]

const OWN: Readonly<Record<string, string>> = {
  'start.js': START,
  'plain.css': PLAIN_STYLE,
  'docs.css': DOCS_STYLE,
}

/** By name, each read when it is asked for first. */
const FILES: ReadonlyMap<string, () => Promise<StaticFile>> = new Map([
  ...PACKAGED.map((url) => keptFile(nameOf(url), () => readFile(url))),
  ...Object.entries(OWN).map(([name, text]) => keptFile(name, () => text)),
])

/** @param describe makes the whole document; called once, on the first request */
// prettier-ignore
export function documentsRouter(
  describe: () => object,
  parts: ApiDescription['parts'],
  appName: string,
): RouteTable {
  const open = new OpenRoutes('')

  open.add('GET /problems',          anything, small(listProblems(appName)))
  open.add('GET /problems/:code',    anything, small(explainProblem(appName)))
  open.add('GET /openapi',           anything, small(listDocuments([...parts.keys()], appName)))
  open.add('GET /openapi.json',      anything, file(showDocument(describe)))
  open.add('GET /openapi/:document', anything, file(showPart(describe, parts)))
  open.add('GET /docs',              anything, small(showPage(appName)))
  open.add('GET /docs/:file',        anything, file(showFile))
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
  const [, read] = keptFile('openapi.json', () => JSON.stringify(make()))
  return async (call: Call) => answerFile(call, await read(), ASKED_EACH_TIME)
}

function showPart(describe: () => object, parts: ApiDescription['parts']) {
  const shown = new Map(
    Array.from(parts, ([name, make]) => [name, showDocument(() => make(describe()))]),
  )
  return (call: Call): Promise<void> => {
    const show = shown.get(call.parameters['document'] ?? '')
    if (show === undefined) throw new ServiceError('not_found')
    return show(call)
  }
}

function showPage(appName: string) {
  const page = pageOf(appName)
  return ({ ctx }: Call): void => {
    ctx.set('Content-Security-Policy', PAGE_POLICY)
    ctx.set('Cache-Control', ASKED_EACH_TIME)
    ctx.type = 'html'
    ctx.body = page
  }
}

async function showFile(call: Call): Promise<void> {
  const found = await FILES.get(call.parameters['file'] ?? '')?.()
  if (found === undefined) throw new ServiceError('not_found')
  answerFile(call, found, CACHED_FOR_A_DAY)
}

function keptFile(
  name: string,
  read: () => string | Promise<Buffer>,
): [string, () => Promise<StaticFile>] {
  return [name, kept(async () => staticFile(name, await read()))]
}
