// Every error that a client can get: status, title and an explanation for people. Nothing else
// gives an error its status. GET /problems/{code} shows these texts.

import type { ErrorCode } from '../../domain/errors.ts'
import { FAULTS } from './faults.ts'
import type { FaultExplanation } from './faults.ts'

export interface Problem extends FaultExplanation {
  readonly status: number
}

const PROBLEMS: Readonly<Record<ErrorCode, Problem>> = {
  malformed_json: {
    status: 400,
    title: 'The body is not JSON',
    explanation: 'The body is not a JSON text in UTF-8. Nothing was stored; set the message aside.',
  },
  invalid_request: {
    status: 400,
    title: 'The request cannot be read',
    explanation:
      'The request violates HTTP, its encoding or its URL. That says nothing of the readings in ' +
      'it: keep them, raise an alarm and try again later.',
  },
  invalid_grant: {
    status: 400,
    title: 'The authorization code was rejected',
    explanation:
      'The identity provider rejected the code or its verifier, or the link has expired or was ' +
      'used. Sign in again.',
  },
  missing_token: {
    status: 401,
    title: 'A token is needed',
    explanation: 'Send your access token in the header: Authorization: Bearer <token>.',
  },
  invalid_token: {
    status: 401,
    title: 'The token is not valid',
    explanation:
      'The access token is unknown, revoked or expired; the three look the same. Sign in again, ' +
      'or ask the operator for a new one.',
  },
  wrong_token_kind: {
    status: 403,
    title: 'Wrong kind of token',
    explanation: 'Daemon tokens (thd_live_) work on /api/v1 only, mobile tokens on /api/mobile/v1.',
  },
  insufficient_scope: {
    status: 403,
    title: 'The token lacks a scope',
    explanation:
      'The token is valid but lacks the scope that this call needs. Ask the operator for one ' +
      'that has it.',
  },
  sign_in_again: {
    status: 403,
    title: 'Sign in again first',
    explanation:
      'This call needs a mobile token that was issued shortly before: at most a day for making ' +
      'daemon tokens, ten minutes for deleting an account. This protects people who leave a ' +
      'phone unattended. Let the person sign in again, then repeat it with the new token.',
  },
  sign_in_not_allowed: {
    status: 403,
    title: 'Sign-in is not allowed',
    explanation:
      'This identity has no account and may not sign up. Ask the operator for an account with ' +
      'your e-mail address.',
  },
  unknown_sensor: {
    status: 403,
    title: 'The sensor is not registered',
    explanation: 'Automatic registration is off: an operator must create the sensor first.',
  },
  sensor_quota: {
    status: 403,
    title: 'Too many sensors',
    explanation: 'The user has reached the limit of sensors. Delete some, or ask the operator.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    explanation:
      'Nothing exists at this URL. /docs lists all URLs. Keep readings that were sent to it, ' +
      'raise an alarm and try again later.',
  },
  sensor_not_found: {
    status: 404,
    title: 'No such sensor',
    explanation:
      'You have no sensor with this id. It may have been deleted: list your sensors again.',
  },
  unknown_provider: {
    status: 404,
    title: 'No such identity provider',
    explanation: 'The bootstrap response lists the identity providers.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    explanation:
      'The Allow header lists the methods of this URL. Keep readings that were sent to it, raise ' +
      'an alarm and try again later.',
  },
  request_timeout: {
    status: 408,
    title: 'The request took too long',
    explanation: 'The request did not arrive in time. Send it again.',
  },
  event_id_conflict: {
    status: 409,
    title: 'The event id is in use for different content',
    explanation:
      'A measurement with this event_id was accepted before with a different sensor, temp or ' +
      'timestamp; `existing` shows it. This one was not stored. Do not send it again.',
  },
  length_required: {
    status: 411,
    title: 'The length is missing',
    explanation:
      'A body is expected, and the request has neither Content-Length nor chunks. Nothing was ' +
      'stored. That says nothing of the readings in it: keep them, raise an alarm and try again ' +
      'later.',
  },
  body_too_large: {
    status: 413,
    title: 'The body is too large',
    explanation: 'After decompression the body is longer than `limit` bytes. Send smaller batches.',
  },
  batch_too_large: {
    status: 413,
    title: 'The batch is too large',
    explanation: 'The batch has more than `limit` elements. Split it.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Not a JSON body',
    explanation: 'Send the body as Content-Type: application/json, in UTF-8.',
  },
  unsupported_encoding: {
    status: 415,
    title: 'The compression is not supported',
    explanation: 'Content-Encoding may be gzip, deflate or absent.',
  },
  validation_failed: {
    status: 422,
    title: 'The request is not valid',
    explanation:
      '`errors` lists the faults, each with a pointer. Nothing was stored. Fix the request. For ' +
      'a batch, set the listed elements aside and resend the rest.',
  },
  range_too_large: {
    status: 422,
    title: 'The period is too long',
    explanation: 'Ask for a shorter period or a coarser bucket; `suggested_bucket` names one.',
  },
  headers_too_large: {
    status: 431,
    title: 'The headers are too large',
    explanation:
      'The request line and the headers have more than 16 KiB. That says nothing of the readings ' +
      'in the request: keep them, raise an alarm and try again later.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    explanation: 'The allowance for this minute is used up. Retry-After says when to continue.',
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    explanation:
      'The service failed unexpectedly; the operator can find out why by the request id. It is ' +
      'unknown whether anything was stored: send the same request again later.',
  },
  provider_failed: {
    status: 502,
    title: 'The identity provider failed',
    explanation:
      'The identity provider failed, or its response could not be verified. Try again later.',
  },
  provider_timeout: {
    status: 504,
    title: 'The identity provider does not respond',
    explanation: 'The identity provider did not respond in time. Try again later.',
  },
  overloaded: {
    status: 503,
    title: 'Overloaded',
    explanation: 'The queue is full. Send the same request again after Retry-After.',
  },
  storage_full: {
    status: 503,
    title: 'The disk is full',
    explanation: 'The server is out of disk space. Keep the data and send it later.',
  },
  history_unavailable: {
    status: 503,
    title: 'History is unavailable',
    explanation:
      'The measurement store cannot be read at the moment. Nothing is lost. Try again after ' +
      'Retry-After.',
  },
  clock_unset: {
    status: 503,
    title: 'The server’s clock is wrong',
    explanation:
      'The server’s clock is earlier than the release of its version, was moved, is before the ' +
      'newest receipt, or is not that of its database. Send it later.',
  },
  shutting_down: {
    status: 503,
    title: 'The server is stopping',
    explanation: 'The server is shutting down. Send the same request again after Retry-After.',
  },
  outcome_unknown: {
    status: 503,
    title: 'Unknown whether it was stored',
    explanation:
      'The connection to the database was lost during the commit. Send the same again after ' +
      'Retry-After: with event ids it is stored once, without them perhaps twice.',
  },
  data_damaged: {
    status: 503,
    title: 'Stored data are damaged',
    explanation:
      'What the server needs to answer this request is damaged on its disk. Keep the data and ' +
      'send the same again after Retry-After: the operator has to restore a backup.',
  },
}

/** Status, title and explanation of a code. */
export function problemOf(code: ErrorCode): Problem {
  return PROBLEMS[code]
}

/** Every code with its problem, by status. */
export function allProblems(): readonly (Problem & { readonly code: ErrorCode })[] {
  return Object.entries(PROBLEMS)
    .map(([code, problem]) => ({ code: code as ErrorCode, ...problem }))
    .toSorted((one, other) => one.status - other.status)
}

/** Every code that GET /problems/{code} knows. */
export function explainedCodes(): readonly string[] {
  return [...Object.keys(PROBLEMS), ...Object.keys(FAULTS)].toSorted()
}

/** What GET /problems/{code} shows, or `undefined` for an unknown code. */
export function explanationOf(code: string): (FaultExplanation & { status?: number }) | undefined {
  if (Object.hasOwn(PROBLEMS, code)) return PROBLEMS[code as ErrorCode]
  if (Object.hasOwn(FAULTS, code)) return FAULTS[code as keyof typeof FAULTS]
  return undefined
}
