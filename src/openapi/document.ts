// The OpenAPI document: combines the route tables, the schemas that validate, and the texts for
// people. A route without a description, or a description without a route, is an error.

import { DESCRIPTIONS } from './descriptions.ts'
import { TAGS } from './route-description.ts'
import type { AnswerDescription, RouteDescription } from './route-description.ts'
import { DOCUMENTS } from './audiences.ts'
import { INFLUX_HEADERS, INFLUX_SECURITY_SCHEMES, influxPaths } from './influx-calls.ts'
import {
  codesOf,
  headerReferences,
  problemExamples,
  problemReferences,
  problemResponses,
} from './problem-answers.ts'
import type { AboutApi } from '../http/pages/documents-api.ts'
import { explainedCodes } from '../http/answers/problems.ts'
import { DAEMON_API_BASE, MOBILE_API_BASE } from '../http/routes.ts'
import type { RouteRow } from '../http/routes.ts'
import { samplesOf } from './samples.ts'
import {
  historyParameters,
  jsonOf,
  queryParameters,
  schemaComponents,
  schemaReference,
} from './schemas.ts'
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

const PARAMETERS: Readonly<Record<string, JsonObject>> = {
  id: {
    description: 'Id of a sensor.',
    schema: { $ref: '#/components/schemas/Id' },
    example: 7,
  },
  session: {
    description: 'Id of a session.',
    schema: { $ref: '#/components/schemas/Id' },
    example: 12,
  },
  token: {
    description: 'Id of a daemon token.',
    schema: { $ref: '#/components/schemas/Id' },
    example: 13,
  },
  idp: {
    description: 'Id of an identity provider.',
    schema: { type: 'string' },
    example: 'acme',
  },
  code: {
    description: 'Code of a problem, or a Thermolog code in its `errors`.',
    schema: { type: 'string', enum: explainedCodes() },
    example: 'missing_token',
  },
  document: {
    description: 'Name of the document.',
    schema: { type: 'string', enum: [...DOCUMENTS.keys()] },
    example: 'mobile.json',
  },
  file: { description: 'Name of the file.', schema: { type: 'string' }, example: 'start.js' },
  version: {
    description: 'Version of the page: a hash of its files.',
    schema: { type: 'string' },
    example: 'b1946ac92492',
  },
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

function operationOf(row: RouteRow): JsonObject {
  const described = DESCRIPTIONS.get(row.route)
  if (described === undefined) throw new Error(`BUG: nobody has described ${row.route}`)
  const { id, tag, summary, description, answers, codes } = described
  const parameters = parametersOf(row, described)
  const body = row.input.bounds.type !== 'none' ? bodyOf(row, described) : undefined
  // A response with an ETag can be requested again.
  const isNegotiated = answers[200]?.headers?.includes('ETag') === true
  if (isNegotiated) parameters.push(headerParameter('If-None-Match'))
  if (described.isResumable === true) parameters.push(headerParameter('Last-Event-ID'))
  parameters.push(headerParameter('X-Request-Id'))
  const problems = codesOf(row, codes)
  const samples = samplesOf(row, described)
  return {
    operationId: id,
    tags: [tag],
    summary,
    description,
    ...(row.right !== undefined && { 'x-scope': row.right }),
    'x-problem-codes': [...problems].toSorted(),
    security: securityOf(row),
    parameters,
    ...(body !== undefined && { requestBody: body }),
    ...(samples !== undefined && { 'x-codeSamples': samples }),
    responses: {
      ...Object.fromEntries(
        Object.entries(answers).map(([status, answer]) => [status, answerOf(row, answer)]),
      ),
      ...(isNegotiated && { 304: { $ref: '#/components/responses/NotModified' } }),
      ...problemReferences(problems),
    },
  }
}

/** Headers of every response to a token. */
const OF_TOKEN = ['Thermolog-Store', 'RateLimit', 'RateLimit-Policy']

/** Headers of requests. */
const HEADER_PARAMETERS: Readonly<Record<string, JsonObject>> = {
  'If-None-Match': {
    description: 'The `ETag` of an earlier response: 304 if nothing has changed.',
    example: 'W/"Zm9vYmFyYmF6cXV4cXV1eA"',
  },
  'Last-Event-ID': {
    description: 'The `id` of the last event you received: later events follow.',
    example: '5f0c7c4be1b44a44b1d8d5c0d9a1e2f3.42.1795168502113.0rT7uXcYpQ2mVh5nZsLw3g',
  },
  'X-Request-Id': {
    description: 'Your own name for the request, for the operator’s log; it is returned.',
    example: 'cellar-42',
  },
}

const NOT_MODIFIED = {
  description: 'Nothing has changed since the `ETag` in `If-None-Match`.',
  headers: headerReferences(['X-Request-Id', ...OF_TOKEN, 'ETag']),
}

function headerParameter(name: string): JsonObject {
  return { $ref: `#/components/parameters/${name}` }
}

function securityOf({ route, isOpen }: RouteRow): JsonObject[] {
  if (route === 'GET /metrics') return [{}, { metricsToken: [] }]
  if (isOpen) return []
  return [route.includes(` ${MOBILE_API_BASE}/`) ? { mobileToken: [] } : { daemonToken: [] }]
}

function parametersOf({ route, input }: RouteRow, { fields = {} }: RouteDescription): JsonObject[] {
  const ofPath = Array.from(route.matchAll(/\{(\w+)\}/g), ([, name = '']) => {
    const parameter = PARAMETERS[name]
    if (parameter === undefined) throw new Error(`BUG: nobody has described {${name}}`)
    return { name, in: 'path', required: true, ...parameter }
  })
  if (input.querySchema !== undefined) {
    return [...ofPath, ...queryParameters(input.querySchema)]
  }
  if (input.bounds.type !== 'none') return ofPath
  const ofQuery = Object.entries(fields).map(([name, described]) => {
    return { name, in: 'query', ...described, schema: { type: 'string' } }
  })
  return [...ofPath, ...ofQuery]
}

const COMPRESSED = 'At most 4 MiB; may be compressed, with `Content-Encoding: gzip`.'

function bodyOf({ input }: RouteRow, { fields = {} }: RouteDescription): JsonObject {
  if (input.schema !== undefined) {
    const required = input.isOptional !== true
    return { description: COMPRESSED, required, content: jsonOf('request', input.schema) }
  }
  const properties = Object.fromEntries(
    Object.entries(fields).map(([name, { description, example }]) => {
      return [name, { description, type: 'string', examples: [example] }]
    }),
  )
  const schema = { type: 'object', properties }
  return { required: true, content: { 'application/x-www-form-urlencoded': { schema } } }
}

function answerOf({ isOpen }: RouteRow, answer: AnswerDescription): JsonObject {
  const { description, schema, texts = [], headers = [] } = answer
  const ofToken = isOpen ? [] : OF_TOKEN
  // For several types, generators make a union that fits none of them.
  const isJson = schema !== undefined
  const content = isJson
    ? jsonOf('response', schema)
    : Object.fromEntries(texts.map((type) => [type, { schema: schemaOfText(type) }]))
  return {
    description,
    headers: headerReferences(['X-Request-Id', ...ofToken, ...headers]),
    ...(isJson && texts.length > 0 && { 'x-other-media-types': texts }),
    ...(Object.keys(content).length > 0 && { content }),
  }
}

/** OpenAPI before 3.2 cannot describe the parts of a stream: generators take it for one part. */
const EVENTS = {
  'x-event': schemaReference('response/live-event'),
  'x-event-data': {
    sensor: { $ref: '#/components/schemas/SensorEvent' },
    sensor_silent: { $ref: '#/components/schemas/SensorEvent' },
    sensor_deleted: { $ref: '#/components/schemas/SensorDeletedEvent' },
  },
}

function schemaOfText(type: string): JsonObject {
  // An image, or any JSON.
  if (type === 'image/png' || type === 'application/json') return {}
  if (type === 'text/event-stream') return { type: 'string', ...EVENTS }
  return { type: /[/+]json$/.test(type) ? 'object' : 'string' }
}

function text(description: string, example: string): JsonObject {
  return { description, schema: { type: 'string' }, example }
}

function bearer(description: string): JsonObject {
  return { type: 'http', scheme: 'bearer', description }
}
