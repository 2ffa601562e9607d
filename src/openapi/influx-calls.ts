// The calls of InfluxDB's senders and of Grafana in the OpenAPI document. They are not in the route
// tables: tokens come in several forms, bodies are text, and errors have InfluxDB's format.

import type { JsonObject } from '../http/body/schema-files.ts'
import { ALWAYS_POSSIBLE, headerReferences, problemAnswers } from './problem-answers.ts'
import type { Tag } from './route-description.ts'
import { jsonOf } from './schemas.ts'

const INFLUX_TAG: Tag = 'InfluxDB-compatible writes'

/** How InfluxDB senders send a daemon token. */
export const INFLUX_SECURITY_SCHEMES = {
  influxToken: {
    type: 'apiKey',
    in: 'header',
    name: 'Authorization',
    description: '`Token thd_live_…` or `Token name:thd_live_…`: a daemon token.',
  },
  influxPassword: {
    type: 'http',
    scheme: 'basic',
    description: 'Any name, and a daemon token as the password.',
  },
}

/** Headers of responses to stored bodies. */
const COUNTS = {
  'Thermolog-Created': 'Measurements newly stored.',
  'Thermolog-Duplicates': 'Measurements already stored.',
  'Thermolog-Skipped': 'Points without a temperature.',
  'Thermolog-Unkeyed': 'Points without a time, stored at the time of receipt.',
}

export const INFLUX_HEADERS: JsonObject = Object.fromEntries(
  Object.entries(COUNTS).map(([name, description]) => {
    const schema = { type: 'integer', format: 'int32', minimum: 0 }
    return [name, { description, schema, example: 10 }]
  }),
)

const OF_TOKEN = ['Thermolog-Store', 'RateLimit', 'RateLimit-Policy']
const SECURITY = ['daemonToken', 'influxToken', 'influxPassword'].map((scheme) => ({
  [scheme]: [],
}))

const EXAMPLE_LINE = 'room,sn=28FF641E93160434 temp=21.37 1795169700000000000'
const LINES = {
  'text/plain': { schema: { type: 'string' }, example: EXAMPLE_LINE },
  'application/octet-stream': { schema: { type: 'string' }, example: EXAMPLE_LINE },
}

const NOT_STORED =
  'After a `partial write`, `line` and `message` name lines that cannot be stored; all others ' +
  'are. Otherwise nothing is stored: the precision is unknown, the body claims to be gzip but is ' +
  'not, or this token has never sent a temperature.'

/** Failures of a write, by status. */
const FAILURES: Readonly<Record<number, string>> = {
  400: NOT_STORED,
  401: 'No valid daemon token.',
  403: 'The token lacks `measurements:write`, or a browser calls from another site.',
  411: 'Neither `Content-Length` nor chunks. Nothing was stored; the connection ends.',
  413: 'More than 4 MiB, 50,000 lines or 50,000 temperatures. Nothing was stored.',
  429: 'The token’s allowance is used up.',
  500: 'An error in the service.',
  503: 'Overloaded, disk full, clock unset or stopping: send the same again.',
}
const CROSS_SITE = { 403: 'A browser calls from another site.' }

/** Failures of a statement. */
const QUERY_FAILURES = {
  400: 'An unsupported statement, or one that asks for too much: `error` says what to use instead.',
  401: FAILURES[401],
  403: 'The token lacks `sensors:read`, or a browser calls from another site.',
  429: `${FAILURES[429]} Without a token: the address’s.`,
  500: FAILURES[500],
  503: 'The measurement store is unreachable, or the service is stopping.',
}
const FORM_FAILURES = {
  408: 'The form arrived too slowly.',
  411: 'No `q` in the address, and neither `Content-Length` nor chunks; the connection ends.',
  413: 'The form is too large.',
  415: 'The body is not a form.',
}

const queryDescription =
  'A small, read-only part of InfluxQL for the sensors of the token’s user: `SHOW …`, and ' +
  '`SELECT` from `temperature` (fields `temp`, `raw`) and `sensor` (`temp`, `silence`, ' +
  '`compensation`, `online`), with the tags `alias`, `choice`, `name`, `sensor_id` and `sn`. ' +
  '`CREATE DATABASE` and `SHOW DATABASES` need no token and change nothing: an address may send ' +
  '600 requests without a token per minute.'

const writeDescription =
  'Line protocol. Each temperature is stored once, however often it is sent. Lines that cannot ' +
  'be stored are kept for the operator; all others are stored. Other parameters are ignored.'

export function influxPaths(): JsonObject {
  return {
    '/api/v2/write': {
      post: write('writeLines', 'v2', ['ns', 'us', 'ms', 's'], FAILURES),
    },
    '/write': {
      post: write('writeLinesV1', 'v1', ['n', 'ns', 'u', 'us', 'µ', 'ms', 's', 'm', 'h'], {
        ...FAILURES,
        429: undefined,
        503: `${FAILURES[503]} Also if the token’s allowance is used up.`,
      }),
    },
    '/ping': {
      get: {
        operationId: 'ping',
        summary: 'Whether this accepts InfluxDB writes',
        description: 'Needs no token.',
        parameters: [
          parameter('verbose', 'Whether to send the version.', 'true', {
            type: 'string',
            enum: ['true', 'false'],
          }),
        ],
        ...open({
          200: {
            description: 'With `verbose=true`.',
            content: jsonOf('response', 'influx-version'),
          },
          204: { description: 'There is.' },
          ...failures('v1', CROSS_SITE),
        }),
      },
    },
    '/health': {
      get: {
        operationId: 'showInfluxHealth',
        summary: 'Whether writes are accepted, for senders',
        description: 'Needs no token.',
        ...open({
          200: { description: 'Accepted.', content: jsonOf('response', 'influx-health') },
          ...failures('v1', CROSS_SITE),
          503: { description: 'Not accepted.', content: jsonOf('response', 'influx-health') },
        }),
      },
    },
    '/query': { get: query('query'), post: query('queryByForm', true) },
  }
}

function write(
  operationId: string,
  version: 'v1' | 'v2',
  precisions: readonly string[],
  failing: Readonly<Record<number, string | undefined>>,
): JsonObject {
  const stored = { description: 'Every temperature is stored.' }
  return {
    operationId,
    tags: [INFLUX_TAG],
    summary: `Writes line protocol as in InfluxDB ${version.slice(1)}`,
    description: writeDescription,
    'x-scope': 'measurements:write',
    security: SECURITY,
    parameters: [
      parameter('precision', 'The unit of the times; default: nanoseconds.', 'ms', {
        type: 'string',
        enum: precisions,
      }),
    ],
    requestBody: { content: LINES },
    responses: responses({
      204: { ...stored, headers: headerReferences([...OF_TOKEN, ...Object.keys(COUNTS)]) },
      ...failures(version, failing),
    }),
  }
}

function query(operationId: string, isForm = false): JsonObject {
  const q = {
    description: 'The statement, or several with `;` between them.',
    type: 'string',
    examples: ['SHOW MEASUREMENTS'],
  }
  const epoch = {
    description: 'The unit of the times; default: RFC 3339.',
    type: 'string',
    enum: ['ns', 'u', 'µ', 'ms', 's', 'm', 'h'],
  }
  const form = { schema: { type: 'object', properties: { q, epoch } } }
  return {
    operationId,
    tags: [INFLUX_TAG],
    summary: 'Reads with InfluxQL, for Grafana',
    description: queryDescription,
    'x-scope': 'sensors:read',
    security: [{}, ...SECURITY],
    parameters: [
      parameter('q', q.description, 'SHOW MEASUREMENTS', { type: q.type }),
      parameter('epoch', epoch.description, 'ms', { type: epoch.type, enum: epoch.enum }),
    ],
    ...(isForm && { requestBody: { content: { 'application/x-www-form-urlencoded': form } } }),
    responses: responses({
      200: {
        description: 'A result of each statement.',
        headers: headerReferences(OF_TOKEN),
        content: jsonOf('response', 'influx-results'),
      },
      ...failures('v1', { ...QUERY_FAILURES, ...(isForm && FORM_FAILURES) }),
    }),
  }
}

function open(answers: Readonly<Record<number, JsonObject>>): JsonObject {
  return { tags: [INFLUX_TAG], security: [], responses: responses(answers) }
}

/** These, and the problems that any request can get before its call is known. */
function responses(answers: Readonly<Record<number, JsonObject>>): JsonObject {
  const all: Record<string, JsonObject> = problemAnswers(new Set(ALWAYS_POSSIBLE))
  for (const [status, answer] of Object.entries(answers)) {
    const problem = all[status] ?? { headers: headerReferences(['X-Request-Id']) }
    all[status] = {
      ...answer,
      headers: { ...(problem['headers'] as object), ...(answer['headers'] as object) },
      ...('content' in answer && {
        content: { ...(answer['content'] as object), ...(problem['content'] as object) },
      }),
    }
  }
  return all
}

function failures(
  version: 'v1' | 'v2',
  descriptions: Readonly<Record<number, string | undefined>>,
): Record<number, JsonObject> {
  const content = jsonOf('response', version === 'v1' ? 'influx-failure-v1' : 'influx-failure')
  return Object.fromEntries(
    Object.entries(descriptions).flatMap(([status, description]) => {
      if (description === undefined) return []
      const headers = headerReferences(HEADERS_OF_FAILURES[status] ?? [])
      return [[status, { description, headers, content }]]
    }),
  )
}

const HEADERS_OF_FAILURES: Readonly<Record<string, readonly string[]>> = {
  400: Object.keys(COUNTS),
  401: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After'],
}

function parameter(
  name: string,
  description: string,
  example: string,
  schema: JsonObject,
): JsonObject {
  return { name, in: 'query', description, schema, example }
}
