// What clients of InfluxDB are told: its own forms of success and failure, in both versions of its
// write API. Never 404, 409 or 422: there are senders that throw away what they sent on these.

import type { ErrorCode, ServiceError } from '../../domain/errors.ts'
import type { LineReading } from '../../line-protocol/read-lines.ts'
import type { Log } from '../../ports/system.ts'
import { logFault, presentError, publicError } from '../answers/errors.ts'
import { answerJson } from '../call/call.ts'
import type { Call } from '../call/call.ts'

export type WriteVersion = 'v1' | 'v2'

/** What became of a body that was stored, in part at least. */
export interface WriteOutcome {
  readonly created: number
  readonly duplicates: number
  /** Points without a temperature. */
  readonly skipped: number
  /** Points without a time. */
  readonly unkeyed: number
}

interface InfluxFailure {
  readonly status: number
  readonly code: string
}

const UNAUTHORIZED = { status: 401, code: 'unauthorized' }
const FORBIDDEN = { status: 403, code: 'forbidden' }
const NO_LENGTH = { status: 411, code: 'invalid' }
const TOO_LARGE = { status: 413, code: 'request too large' }
const INVALID = { status: 400, code: 'invalid' }
const UNAVAILABLE = { status: 503, code: 'unavailable' }

const FAILURES: Partial<Record<ErrorCode, InfluxFailure>> = {
  missing_token: UNAUTHORIZED,
  invalid_token: UNAUTHORIZED,
  wrong_token_kind: FORBIDDEN,
  insufficient_scope: FORBIDDEN,
  length_required: NO_LENGTH,
  body_too_large: TOO_LARGE,
  batch_too_large: TOO_LARGE,
  invalid_request: INVALID,
  unsupported_encoding: INVALID,
  unsupported_media_type: INVALID,
  internal_error: { status: 500, code: 'internal error' },
}

const LENGTH_MISSING = 'no Content-Length: send it, or the body in chunks'

/** Answers that all temperatures are stored. */
export function answerStored({ ctx }: Call, outcome: WriteOutcome): void {
  setOutcome({ ctx }, outcome)
  ctx.status = 204
}

/** Asks of a temperature whether it was sent in thousandths of a degree. */
export function hintThousandths(
  { ctx }: Pick<Call, 'ctx'>,
  { line, measurement }: LineReading,
): void {
  const read = `line ${line.number}: ${measurement.tempCelsius} degrees Celsius`
  ctx.set('Thermolog-Hint', `${read}: is it in thousandths of a degree?`)
}

/** A line of which something cannot be stored, and why. */
export interface UnstoredLine {
  readonly number: number
  readonly reason: string
}

/**
 * Answers that some lines cannot be stored; all others are.
 *
 * @param told.named the first of them, at least one, in their order
 * @param told.count how many they are
 * @param told.lineCount lines of the body that have a temperature, or cannot be read
 */
export function answerPartly(
  call: Call,
  version: WriteVersion,
  told: {
    readonly named: readonly UnstoredLine[]
    readonly count: number
    readonly lineCount: number
    readonly outcome: WriteOutcome
  },
): void {
  const { named, count, lineCount, outcome } = told
  setOutcome(call, outcome)
  const reasons = named.map(({ number, reason }) => `line ${number}: ${reason}`)
  if (count > named.length) reasons.push(`and ${count - named.length} more`)
  const lines = `${count} of ${lineCount} lines not stored`
  const message = `partial write: ${lines}; ${reasons.join('; ')}`
  answerInflux(call, version, { ...INVALID, message, line: named[0]?.number })
}

/** Answers that nothing was stored because of what the request is. */
export function answerInvalid(call: Call, version: WriteVersion, message: string): void {
  answerInflux(call, version, { ...INVALID, message })
}

/** Answers that something failed, as the problem that it would be elsewhere. @returns its code */
export function answerFailure(
  call: Call,
  version: WriteVersion,
  thrown: unknown,
  log: Log,
): ErrorCode {
  const { error } = noteFailure(call, thrown, log)
  const maxLength = error.code === 'body_too_large' ? error.members['limit'] : undefined
  const message = messageOf(error)
  answerInflux(call, version, { ...failureOf(error.code, version), message, maxLength })
  return error.code
}

/** Answers that a statement was not answered: with the status that the failure has elsewhere. */
export function answerUnread(call: Call, thrown: unknown, log: Log): void {
  const { error, status } = noteFailure(call, thrown, log)
  answerJson(call, status, JSON.stringify({ error: messageOf(error) }))
}

/** Sets the headers of a failure, and notes it for the log. */
function noteFailure(call: Call, thrown: unknown, log: Log) {
  const error = publicError(thrown)
  const { status, headers } = presentError(error, call.requestId)
  logFault(log, call, thrown)
  call.ctx.state['code'] = error.code
  for (const name of ['Retry-After', 'WWW-Authenticate']) {
    if (headers[name] !== undefined) call.ctx.set(name, headers[name])
  }
  return { error, status }
}

function failureOf(code: ErrorCode, version: WriteVersion): InfluxFailure {
  // Some senders of version 1 drop what they sent on any 4xx.
  const status = version === 'v1' ? 503 : 429
  if (code === 'rate_limited') return { status, code: 'too many requests' }
  return FAILURES[code] ?? UNAVAILABLE
}

function messageOf({ code, detail, members }: ServiceError): string {
  if (detail !== undefined) return detail
  if (code === 'length_required') return LENGTH_MISSING
  const words = code.replaceAll('_', ' ')
  const { limit } = members
  return typeof limit === 'number' ? `${words}: the limit is ${limit}` : words
}

function setOutcome({ ctx }: Pick<Call, 'ctx'>, outcome: WriteOutcome): void {
  ctx.set({
    'Thermolog-Created': String(outcome.created),
    'Thermolog-Duplicates': String(outcome.duplicates),
    'Thermolog-Skipped': String(outcome.skipped),
    'Thermolog-Unkeyed': String(outcome.unkeyed),
  })
}

function answerInflux(
  call: Call,
  version: WriteVersion,
  { status, code, message, ...members }: InfluxFailure & Readonly<Record<string, unknown>>,
): void {
  const body = version === 'v1' ? { error: message } : { code, message, ...members }
  answerJson(call, status, JSON.stringify(body))
}
