// The OpenAPI document: combines the route tables, the schemas that validate, and the texts for
// people. A description without a route is an error.

import { DESCRIPTIONS } from './descriptions.ts'
import { TAGS } from './route-description.ts'
import { INFLUX_HEADERS, INFLUX_SECURITY_SCHEMES, influxPaths } from './influx-calls.ts'
import { HEADER_PARAMETERS, NOT_MODIFIED, operationOf } from './operation.ts'
import { codesOf, problemExamples, problemResponses } from './problem-answers.ts'
import type { AboutApi } from '../http/pages/documents-api.ts'
import { DAEMON_API_BASE, MOBILE_API_BASE } from '../http/routes/routes.ts'
import type { RouteRow } from '../http/routes/routes.ts'
import { historyParameters, schemaComponents } from './schemas.ts'
import type { JsonObject } from '../http/body/schema-files.ts'

const INTRODUCTION = `Time-series ingestion for temperature sensors.
Daemons submit measurements with a daemon token below \`${DAEMON_API_BASE}\`, apps read them with a
mobile token below \`${MOBILE_API_BASE}\`; neither token works with the other API.
Temperatures are degrees Celsius, times are UTC. Every success with a body is \`{"data": …}\` on
both APIs, every failure a problem document (RFC 9457) with one of [these codes](/problems). Ignore
members, headers and codes you do not know.`

const HEADERS: Readonly<Record<string, JsonObject>> = {
  'X-Request-Id': text(
    'Identifies the request in the operator’s log. You may send your own.',
    'cellar-42',
  ),
  'WWW-Authenticate': text('How to authenticate.', 'Bearer realm="thermolog"'),
  'Retry-After': {
    description: 'Seconds to wait before you retry.',
    schema: { type: 'integer', format: 'int32', minimum: 1 },
    example: 5,
  },
  'Thermolog-Store': text(
    'The id of the data; it changes after a restore.',
    '5a1bd1a4f0c84c0f9f3e6a4a2f7c9d10',
  ),
  RateLimit: text('What is left of the token’s allowances.', '"requests";r=5999;t=60'),
  'RateLimit-Policy': text(
    'The allowances of the token: requests, measurements and live measurements.',
    '"requests";q=6000;w=60',
  ),
  ETag: text('For `If-None-Match`.', 'W/"Zm9vYmFyYmF6cXV4cXV1eA"'),
  Location: text('The URL to go to.', 'org.example.thermolog:/callback?code=SplxlOBeZQQYbYS6'),
  'Thermolog-Bucket': text('The bucket of the points, for formats without a place for it.', 'hour'),
  'Thermolog-Complete': text(
    '`false`: acknowledged measurements of the period are missing.',
    'true',
  ),
}

const SECURITY_SCHEMES = {
  daemonToken: bearer('A daemon token, `thd_live_…`. An operator creates it.'),
  mobileToken: bearer('A mobile token, `thm_live_…`. You get it by signing in.'),
  metricsToken: bearer('The operator’s token for the metrics, if one is set.'),
}

/** @param rows of all route tables */
export function createDocument(
  rows: readonly RouteRow[],
  { version, apiUrl, appName }: AboutApi,
): JsonObject {
  const routes = new Set(rows.map(({ route }) => route))
  const lost = DESCRIPTIONS.keys().find((route) => !routes.has(route))
  if (lost !== undefined) throw new Error(`BUG: no route ${lost}`)
  const codes = new Set(
    rows.flatMap((row) => [...codesOf(row, DESCRIPTIONS.get(row.route)?.codes)]),
  )
  return {
    openapi: '3.1.0',
    info: {
      title: appName,
      version,
      description: INTRODUCTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: apiUrl }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: { ...pathsOf(rows), ...influxPaths() },
    components: {
      schemas: schemaComponents(),
      responses: { NotModified: NOT_MODIFIED, ...problemResponses(codes) },
      parameters: {
        ...historyParameters(),
        ...Object.fromEntries(
          Object.entries(HEADER_PARAMETERS).map(([name, described]) => {
            return [name, { name, in: 'header', ...described, schema: { type: 'string' } }]
          }),
        ),
      },
      headers: { ...HEADERS, ...INFLUX_HEADERS },
      examples: problemExamples(codes),
      securitySchemes: { ...SECURITY_SCHEMES, ...INFLUX_SECURITY_SCHEMES },
    },
  }
}

function pathsOf(rows: readonly RouteRow[]): JsonObject {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const row of rows) {
    const [method = '', path = ''] = row.route.split(' ')
    paths[path] ??= {}
    paths[path][method.toLowerCase()] = operationOf(row)
  }
  return paths
}

function text(description: string, example: string): JsonObject {
  return { description, schema: { type: 'string' }, example }
}

function bearer(description: string): JsonObject {
  return { type: 'http', scheme: 'bearer', description }
}
