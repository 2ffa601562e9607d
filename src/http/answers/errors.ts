// Errors as responses: whatever was thrown becomes a problem document (RFC 9457) with its headers.
// Of an unexpected error, only the request id is exposed.

import { ServiceError, postponedError } from '../../domain/errors.ts'
import type { ErrorCode } from '../../domain/errors.ts'
import type { Log } from '../../ports/system.ts'
import type { Call } from '../call/call.ts'
import { boundedFaults } from './fault-list.ts'
import { problemOf } from './problems.ts'
import type { Problem } from '../../../schemas/messages.d.ts'

const PROBLEM_TYPE = 'application/problem+json'

export interface ProblemAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const CHALLENGES: Partial<Record<ErrorCode, string>> = {
  missing_token: 'Bearer realm="thermolog"',
  invalid_token: 'Bearer realm="thermolog", error="invalid_token"',
  insufficient_scope: 'Bearer realm="thermolog", error="insufficient_scope"',
}

/**
 * The error that a client sees: a ServiceError as it is, `overloaded` while no file can be opened,
 * `data_damaged` where a page of a file is damaged, or `internal_error` for anything else.
 */
export function publicError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (/^E[MN]FILE$/.test(code)) return postponedError('overloaded', { cause: error })
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) return postponedError('data_damaged', { cause: error })
  return new ServiceError('internal_error')
}

/** Status, headers and body of an error response. */
export function presentError(error: ServiceError, requestId: string): ProblemAnswer {
  const { status, title, explanation } = problemOf(error.code)
  const document: Problem = {
    type: `/problems/${error.code}`,
    title,
    status,
    code: error.code,
    // Plain text, in which back-ticks would be seen.
    detail: error.detail ?? explanation.replaceAll('`', ''),
    request_id: requestId,
    ...(error.faults && { errors: boundedFaults(error.faults) }),
    ...error.members,
  }
  // Removes caching headers meant for the response that this one replaces.
  const headers: Record<string, string> = {
    'Content-Type': PROBLEM_TYPE,
    'Cache-Control': 'no-store',
  }
  const challenge = CHALLENGES[error.code]
  if (challenge !== undefined) headers['WWW-Authenticate'] = challenge
  if (error.retryAfterSeconds !== undefined) {
    headers['Retry-After'] = String(Math.max(1, Math.ceil(error.retryAfterSeconds)))
  }
  return { status, headers, body: JSON.stringify(document) }
}

/** Logs errors that are our fault, whatever the client sees. */
export function logFault(log: Log, { ctx, requestId, path }: Call, error: unknown): void {
  if (error instanceof ServiceError && error.code !== 'internal_error') return
  const stack = stackOf(error)
  log.error('request failed', { request_id: requestId, method: ctx.method, path, error: stack })
}

/** The stack of an error's root cause. */
function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? String(error.stack) : stackOf(error.cause)
}
