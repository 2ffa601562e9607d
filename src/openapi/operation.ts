// An operation of the OpenAPI document: what a row of the route tables takes and answers. A route
// without a description is an error.

import { explainedCodes } from '../http/answers/problems.ts'
import type { JsonObject } from '../http/body/schema-files.ts'
import { MOBILE_API_BASE } from '../http/routes/routes.ts'
import type { RouteRow } from '../http/routes/routes.ts'
import { DOCUMENTS } from './audiences.ts'
import { DESCRIPTIONS } from './descriptions.ts'
import { codesOf, headerReferences, problemReferences } from './problem-answers.ts'
import type { AnswerDescription, RouteDescription } from './route-description.ts'
import { samplesOf } from './samples.ts'
import { jsonOf, queryParameters, schemaReference } from './schemas.ts'

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

/** @throws for a route that nobody has described */
export function operationOf(row: RouteRow): JsonObject {
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
export const HEADER_PARAMETERS: Readonly<Record<string, JsonObject>> = {
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

export const NOT_MODIFIED = {
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
