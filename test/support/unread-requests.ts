// What clients ask for that do not read their answers: every row of the route tables, as the
// service's own document describes it, each file that it serves, and what makes long answers.

import { submissionMeasurementsMax } from '../../src/domain/limits.ts'
import { DAY_MS } from '../../src/domain/time.ts'
import type { HostileRoute } from './hostile-routes.ts'
import { readRoutes } from './hostile-routes.ts'

export interface UnreadRequest {
  /** For the report. */
  readonly what: string
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly type: string | undefined
  readonly body: string | undefined
  readonly token: HostileRoute['token']
}

interface Extra {
  readonly what: string
  /** Of the row that it belongs to. */
  readonly row: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: string
}

/** A stream of events: its answer has no end. */
export const ENDLESS = '/api/mobile/v1/events'

const TYPES = {
  json: 'application/json',
  lines: 'text/plain',
  form: 'application/x-www-form-urlencoded',
}

const BATCH = 'POST /api/v1/measurements/batch'
const LONG_ID = 'i'.repeat(120)
const BAD_LINES = 100
const SENSORS = Array.from({ length: 50 }, (_, at) => at + 1).join(',')
/** So many days of minutes are just fewer points than a history may have. */
const FILLED_DAYS = 6

const REFUSED = batchOf(() => ({}))
const LONG_RECEIPT = batchOf((at) => ({ event_id: `${LONG_ID}${at}`, sn: 'long', temp: at % 50 }))
const LINES = 'x\n'.repeat(BAD_LINES)
const ALL_SENSORS = 'SELECT "temp", "silence" FROM "sensor" GROUP BY "name"::tag SLIMIT 10000'
const ALL_NAMES = 'SHOW TAG VALUES FROM "sensor" WITH KEY = "name"'

/** @param largestOnly of the files: the others are answered alike */
export async function readUnreadRequests(
  url: string,
  largestOnly: boolean,
): Promise<UnreadRequest[]> {
  const routes = await readRoutes(url)
  const files = await readFiles(url, routes)
  // What ends or deletes something comes last: others ask for it.
  const inOrder = routes.toSorted((one, other) => endOf(one) - endOf(other))
  return inOrder.flatMap((route) => {
    const ofRow = extras().filter(({ row }) => row === rowOf(route))
    const more = ofRow.map((extra) => ({ ...requestOf(route, extra), ...extra }))
    const paths = files.get(route.pattern)
    if (paths === undefined) return [requestOf(route), ...more]
    const asked = largestOnly ? paths.slice(0, 1) : paths
    return asked.map((path) => ({ ...requestOf(route), what: `GET ${path}`, path }))
  })
}

/** With a query or a body that the document does not give as an example. */
function extras(): Extra[] {
  const [from = '', to = ''] = [-FILLED_DAYS, 0].map((days) =>
    new Date(Date.now() + days * DAY_MS).toISOString(),
  )
  const filled = { from, to, bucket: 'minute', fill: 'null' }
  const apis = ['/api/v1', '/api/mobile/v1']
  return [
    { what: 'changes from the start', row: 'GET /api/mobile/v1/changes', query: {} },
    { what: 'a batch that is refused', row: BATCH, query: {}, body: REFUSED },
    { what: 'a batch with nothing good', row: BATCH, body: REFUSED },
    { what: 'a batch with a long receipt', row: BATCH, query: {}, body: LONG_RECEIPT },
    { what: 'a list of sensors by InfluxQL', row: 'GET /query', query: { q: ALL_SENSORS } },
    { what: 'all names by InfluxQL', row: 'GET /query', query: { q: ALL_NAMES } },
    { what: 'lines that are refused, v2', row: 'POST /api/v2/write', query: {}, body: LINES },
    { what: 'lines that are refused, v1', row: 'POST /write', query: {}, body: LINES },
    ...apis.flatMap((base): Extra[] => [
      { what: 'a long history', row: `GET ${base}/sensors/{id}/measurements`, query: filled },
      {
        what: 'long histories',
        row: `GET ${base}/measurements`,
        query: { ...filled, bucket: 'hour', sensors: SENSORS },
      },
    ]),
  ].map((extra) => ({ ...extra, what: `${extra.what}: ${extra.row}` }))
}

function batchOf(element: (at: number) => object): string {
  const measurements = Array.from({ length: submissionMeasurementsMax }, (_, at) => element(at))
  return JSON.stringify({ measurements })
}

/** The end of a session is the very last: whoever goes on with it is told to wait. */
function endOf({ method, pattern }: HostileRoute): number {
  if (pattern.endsWith('/logout')) return 2
  return method === 'DELETE' || pattern.endsWith('/deletion') ? 1 : 0
}

function rowOf({ method, pattern }: HostileRoute): string {
  return `${method} ${pattern}`
}

function requestOf(
  route: HostileRoute,
  { query, body }: Pick<Extra, 'query' | 'body'> = {},
): UnreadRequest {
  const path = route.pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(route.places.get(name) ?? ''),
  )
  const asked = new URLSearchParams(query ?? Object.fromEntries(route.query)).toString()
  return {
    what: rowOf(route),
    method: route.method,
    path: asked === '' ? path : `${path}?${asked}`,
    type: route.format && TYPES[route.format],
    body: body ?? route.bodies[0],
    token: route.token,
  }
}

/** The paths of files by the row that serves them, largest first: other pages link to them. */
async function readFiles(
  url: string,
  routes: readonly HostileRoute[],
): Promise<Map<string, string[]>> {
  const links = await Promise.all(
    ['/docs', '/openapi', '/', '/service-worker.js'].map(async (path) => {
      const text = await (await fetch(url + path)).text()
      return [...text.matchAll(/\b(?:docs|openapi|web)\/[\w./-]+\.\w+/g)].map(
        ([link]) => `/${link}`,
      )
    }),
  )
  const sizes = new Map(
    await Promise.all(
      [...new Set(links.flat())].map(async (path) => {
        const answer = await fetch(url + path)
        const { byteLength } = await answer.arrayBuffer()
        return [path, answer.ok ? byteLength : 0] as const
      }),
    ),
  )
  const served = routes.filter(({ pattern }) => /\{(file|document)\}/.test(pattern))
  return new Map(
    served.map(({ pattern }) => {
      const isServed = new RegExp(`^${pattern.replaceAll(/\{\w+\}/g, '[^/]+')}$`)
      const ofRow = [...sizes].filter(([path, bytes]) => bytes > 0 && isServed.test(path))
      if (ofRow.length === 0) throw new Error(`no page links to a file of ${pattern}`)
      return [pattern, ofRow.toSorted(([, one], [, other]) => other - one).map(([path]) => path)]
    }),
  )
}
