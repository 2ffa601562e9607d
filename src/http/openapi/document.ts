// The OpenAPI document: combines the route tables, the schemas that validate, and the texts for
// people. A route without a description, or a description without a route, is an error.

import { DESCRIPTIONS } from './descriptions.ts'
import type { AnswerDescription, RouteDescription } from './route-description.ts'
import { INFLUX_HEADERS, INFLUX_SECURITY_SCHEMES, INFLUX_TAG, influxPaths } from './influx-calls.ts'
import {
  codesOf,
  headerReferences,
  problemAnswers,
  problemExamples,
  problemTable,
} from './problem-answers.ts'
import { explainedCodes } from '../answers/problems.ts'
import { DAEMON_API_BASE, MOBILE_API_BASE } from '../requests/routes.ts'
import type { RouteRow } from '../requests/routes.ts'
import { jsonOf, queryParameters, schemaComponents, schemaReference } from './schemas.ts'
import type { JsonObject } from '../body/schema-files.ts'

const TAGS: Readonly<Record<RouteDescription['tag'] | typeof INFLUX_TAG, string>> = {
  Measurements: 'Submitting measurements, and reading them raw or in buckets.',
  [INFLUX_TAG]:
    'What senders to InfluxDB call, such as Telegraf; they need nothing but the URL and a token.',
  Sensors: 'Listing, naming, correcting and deleting sensors. A first measurement registers one.',
  Account: 'Who asks.',
  'Sign-in': 'How a person gets a mobile token: OpenID Connect with PKCE.',
  Operations: 'For operators and load balancers.',
  Documents: 'This description, and explanations of errors.',
  'Chart page': 'A page that shows your sensors after you sign in; it calls the mobile API.',
}

const INTRODUCTION = `Time-series ingestion for temperature sensors.
Daemons submit measurements with a daemon token below \`${DAEMON_API_BASE}\`, apps read them with a
mobile token below \`${MOBILE_API_BASE}\`; a token of the one kind does not work with the other.
Temperatures are degrees Celsius, times are UTC. Every success with a body is \`{"data": …}\` on
both APIs, every failure a problem document (RFC 9457) with one of the codes below. Only the calls
that software for InfluxDB makes answer as InfluxDB does.

`

const HEADERS: Readonly<Record<string, JsonObject>> = {
  'X-Request-Id': text('Identifies the request in the operator’s log. You may send your own.'),
  'WWW-Authenticate': text('How to authenticate.'),
  'Retry-After': { description: 'Seconds to wait before you retry.', schema: seconds() },
  'Thermolog-Store': text('The id of the data; it changes after a restore.'),
  RateLimit: text('What is left of the allowances of the token.'),
  'RateLimit-Policy': text(
    'The allowances of the token: requests, measurements and live measurements.',
  ),
  ETag: text('For `If-None-Match`.'),
  Location: text('The URL to go to.'),
  'Thermolog-Bucket': text('The bucket of the points, for formats without a place for it.'),
  'Thermolog-Complete': text('`false`: acknowledged measurements of the period are missing.'),
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
  file: { description: 'Name of the file.', schema: { type: 'string' } },
  version: { description: 'Version of the page: a hash of its files.', schema: { type: 'string' } },
}

const SECURITY_SCHEMES = {
  daemonToken: bearer('A daemon token, `thd_live_…`. An operator creates it.'),
  mobileToken: bearer('A mobile token, `thm_live_…`. You get it by signing in.'),
  metricsToken: bearer('The operator’s token for the metrics, if one is set.'),
}

/** @param rows of all route tables */
export function createDocument(rows: readonly RouteRow[], version: string): JsonObject {
  const routes = new Set(rows.map(({ route }) => route))
  const lost = DESCRIPTIONS.keys().find((route) => !routes.has(route))
  if (lost !== undefined) throw new Error(`BUG: no route ${lost}`)
  const codes = new Set(
    rows.flatMap((row) => [...codesOf(row, DESCRIPTIONS.get(row.route)?.codes)]),
  )
  return {
    openapi: '3.1.0',
    info: {
      title: 'Thermolog',
      version,
      description: INTRODUCTION + problemTable(),
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: { ...pathsOf(rows), ...influxPaths() },
    components: {
      schemas: schemaComponents(),
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
  const body = row.input.place === 'body' ? bodyOf(row, described) : undefined
  const isNegotiated = Object.hasOwn(answers, 304)
  if (isNegotiated) parameters.push(IF_NONE_MATCH)
  if (described.isResumable === true) parameters.push(LAST_EVENT_ID)
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    security: securityOf(row),
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && { requestBody: body }),
    responses: {
      ...Object.fromEntries(
        Object.entries(answers).map(([status, answer]) => [status, answerOf(row, answer)]),
      ),
      ...problemAnswers(codesOf(row, codes)),
    },
  }
}

const IF_NONE_MATCH = {
  name: 'If-None-Match',
  in: 'header',
  description: 'The `ETag` of an earlier response: 304 if nothing has changed.',
  schema: { type: 'string' },
}

const LAST_EVENT_ID = {
  name: 'Last-Event-ID',
  in: 'header',
  description: 'The `id` of the last event you received: later events follow.',
  schema: { type: 'string' },
}

function securityOf({ route, isOpen, right }: RouteRow): JsonObject[] {
  const rights = right === undefined ? [] : [right]
  if (route === 'GET /metrics') return [{}, { metricsToken: [] }]
  if (isOpen) return []
  const isMobile = route.includes(` ${MOBILE_API_BASE}/`)
  return [isMobile ? { mobileToken: rights } : { daemonToken: rights }]
}

function parametersOf({ route, input }: RouteRow, { fields = [] }: RouteDescription): JsonObject[] {
  const ofPath = Array.from(route.matchAll(/\{(\w+)\}/g), ([, name = '']) => {
    const parameter = PARAMETERS[name]
    if (parameter === undefined) throw new Error(`BUG: nobody has described {${name}}`)
    return { name, in: 'path', required: true, ...parameter }
  })
  if (input.querySchema !== undefined) {
    return [...ofPath, ...queryParameters(input.querySchema)]
  }
  if (input.place !== 'query') return ofPath
  const ofQuery =
    input.schema === undefined
      ? fields.map((name) => ({ name, in: 'query', schema: { type: 'string' } }))
      : queryParameters(input.schema)
  return [...ofPath, ...ofQuery]
}

function bodyOf({ input }: RouteRow, { fields = [] }: RouteDescription): JsonObject {
  if (input.schema !== undefined)
    return { required: true, content: jsonOf('request', input.schema) }
  const properties = Object.fromEntries(fields.map((name) => [name, { type: 'string' }]))
  const schema = { type: 'object', properties }
  return { required: true, content: { 'application/x-www-form-urlencoded': { schema } } }
}

function answerOf({ isOpen }: RouteRow, answer: AnswerDescription): JsonObject {
  const { description, schema, texts = [], headers = [] } = answer
  const ofToken = isOpen ? [] : ['Thermolog-Store', 'RateLimit', 'RateLimit-Policy']
  const content = {
    ...(schema !== undefined && jsonOf('response', schema)),
    ...Object.fromEntries(texts.map((type) => [type, { schema: schemaOfText(type) }])),
  }
  return {
    description,
    headers: headerReferences(['X-Request-Id', ...ofToken, ...headers]),
    ...(Object.keys(content).length > 0 && { content }),
  }
}

function schemaOfText(type: string): JsonObject {
  if (type === 'image/png') return {}
  // Before OpenAPI 3.2, the schema of such a stream describes a single event.
  if (type === 'text/event-stream') return schemaReference('response/live-event')
  return { type: /[/+]json$/.test(type) ? 'object' : 'string' }
}

function text(description: string): JsonObject {
  return { description, schema: { type: 'string' } }
}

function seconds(): JsonObject {
  return { type: 'integer', minimum: 1 }
}

function bearer(description: string): JsonObject {
  return { type: 'http', scheme: 'bearer', description }
}
