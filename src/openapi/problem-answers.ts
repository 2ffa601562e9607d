// Errors in the OpenAPI document: a response for each status, shared by all operations, with a
// realistic example of each code. Each operation lists the codes it can return.

import { STATUS_CODES } from 'node:http'
import type { ErrorCode } from '../domain/errors.ts'
import { exampleOf } from '../http/answers/problem-example.ts'
import { problemOf } from '../http/answers/problems.ts'
import type { RouteRow } from '../http/routes/routes.ts'
import type { JsonObject } from '../http/body/schema-files.ts'

const PROBLEM = { $ref: '#/components/schemas/Problem' }
const RETRY_LATER = new Set([429, 503])

/** Possible for any request. */
export const ALWAYS_POSSIBLE: readonly ErrorCode[] = [
  'invalid_request',
  'request_timeout',
  'internal_error',
]
const WITH_TOKEN: readonly ErrorCode[] = [
  'missing_token',
  'invalid_token',
  'wrong_token_kind',
  'rate_limited',
  'validation_failed',
  // While the database is unreachable, no token can be checked.
  'overloaded',
  'shutting_down',
]
const WITH_BODY: readonly ErrorCode[] = [
  'unsupported_media_type',
  'unsupported_encoding',
  'body_too_large',
]
const WITH_JSON: readonly ErrorCode[] = ['malformed_json', 'validation_failed', 'overloaded']

/** Every code that a route can return: its own, and those that its input and token imply. */
export function codesOf(row: RouteRow, own: readonly ErrorCode[] = []): Set<ErrorCode> {
  const { route, isOpen, right, input } = row
  return new Set<ErrorCode>([
    ...ALWAYS_POSSIBLE,
    ...own,
    ...(isOpen ? [] : WITH_TOKEN),
    ...(right === undefined ? [] : (['insufficient_scope'] as const)),
    ...(route.includes('/sensors/{id}') ? (['sensor_not_found'] as const) : []),
    ...(input.bounds.type === 'none' ? [] : WITH_BODY),
    ...(isBodyRequired(input) ? (['length_required'] as const) : []),
    ...(input.schema === undefined ? [] : WITH_JSON),
  ])
}

function isBodyRequired({ bounds, isOptional }: RouteRow['input']): boolean {
  return bounds.type !== 'none' && isOptional !== true
}

/** For an operation with these codes: the shared response of each status, and one for any other. */
export function problemReferences(codes: ReadonlySet<ErrorCode>): JsonObject {
  const statuses = new Set(Array.from(codes, (code) => problemOf(code).status))
  return {
    ...Object.fromEntries(Array.from(statuses, (status) => [status, responseOf(nameOf(status))])),
    default: responseOf('Problem'),
  }
}

function responseOf(name: string): JsonObject {
  return { $ref: `#/components/responses/${name}` }
}

/** The responses referred to. */
export function problemResponses(codes: ReadonlySet<ErrorCode>): JsonObject {
  const answers = Object.entries(problemAnswers(codes))
  return {
    ...Object.fromEntries(answers.map(([status, answer]) => [nameOf(Number(status)), answer])),
    Problem: {
      description: 'Any other failure, of a later version too; a proxy may send another body.',
      headers: headerReferences(headersOf(0)),
      content: { 'application/problem+json': { schema: PROBLEM } },
    },
  }
}

/** One response per status of these codes. */
export function problemAnswers(codes: ReadonlySet<ErrorCode>): Record<string, JsonObject> {
  const byStatus = Map.groupBy(codes, (code) => problemOf(code).status)
  return Object.fromEntries(
    Array.from(byStatus, ([status, ofStatus]) => [String(status), answerOf(status, ofStatus)]),
  )
}

/** An example of each error. */
export function problemExamples(codes: ReadonlySet<ErrorCode>): JsonObject {
  return Object.fromEntries(
    Array.from(codes, (code) => {
      return [code, { summary: problemOf(code).title, value: exampleOf(code) }]
    }),
  )
}

function answerOf(status: number, codes: readonly ErrorCode[]): JsonObject {
  const sorted = codes.toSorted()
  const examples: JsonObject = Object.fromEntries(
    sorted.map((code) => [code, { $ref: `#/components/examples/${code}` }]),
  )
  return {
    description: sorted.map((code) => `\`${code}\`: ${problemOf(code).title}`).join('; '),
    headers: headerReferences(headersOf(status)),
    content: {
      'application/problem+json': { schema: PROBLEM, examples },
    },
  }
}

function headersOf(status: number): string[] {
  const headers = ['X-Request-Id', 'RateLimit', 'RateLimit-Policy']
  if (status === 401) headers.push('WWW-Authenticate')
  if (RETRY_LATER.has(status)) headers.push('Retry-After')
  return headers
}

/** `422` is `UnprocessableEntity`. */
function nameOf(status: number): string {
  return (STATUS_CODES[status] ?? '').replaceAll(/\W/g, '')
}

/** References to headers of the components. */
export function headerReferences(names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}
