// Every way to fail that a client can meet: status, title and what it means for a person. The only
// place where a failure gets a status. GET /problems/{code} shows these texts.

import type { ErrorCode } from '../domain/errors.ts'

export interface Problem {
  readonly status: number
  readonly title: string
  readonly explanation: string
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
      'The request breaks the rules of HTTP, of its encoding or of its address. Set it aside: as ' +
      'it is it fails every time.',
  },
  invalid_grant: {
    status: 400,
    title: 'The authorization code was refused',
    explanation: 'The identity provider refused the code or its verifier. Sign in once more.',
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
      'The access token is unknown, was revoked or has run out; these look the same. Sign in ' +
      'again, or ask the operator for a new one.',
  },
  wrong_token_kind: {
    status: 403,
    title: 'A token of the other kind',
    explanation: 'Daemon tokens (thd_live_) work on /api/v1 only, mobile ones on /api/mobile/v1.',
  },
  insufficient_scope: {
    status: 403,
    title: 'The token lacks a scope',
    explanation:
      'The token is valid but was made without the scope that this call needs. Ask the operator ' +
      'for one that has it.',
  },
  sign_in_not_allowed: {
    status: 403,
    title: 'Sign-in is not allowed',
    explanation:
      'No account belongs to this identity, and signing up is not open for it. Ask the operator ' +
      'for an account with your e-mail address.',
  },
  unknown_sensor: {
    status: 403,
    title: 'The sensor is not registered',
    explanation: 'Sensors are not registered by themselves here: an operator has to create it.',
  },
  sensor_quota: {
    status: 403,
    title: 'Too many sensors',
    explanation: 'The user has as many sensors as are allowed. Delete some or ask the operator.',
  },
  not_found: {
    status: 404,
    title: 'Nothing is here',
    explanation: 'There is no such address. /docs lists all there are.',
  },
  sensor_not_found: {
    status: 404,
    title: 'No such sensor',
    explanation: 'You have no sensor with this id. It may have been deleted: list them again.',
  },
  unknown_provider: {
    status: 404,
    title: 'No such identity provider',
    explanation: 'The bootstrap answer lists the identity providers there are.',
  },
  method_not_allowed: {
    status: 405,
    title: 'The method does not work here',
    explanation: 'The Allow header lists the methods of this address.',
  },
  request_timeout: {
    status: 408,
    title: 'The request took too long',
    explanation: 'The request did not arrive in time. Send the same again.',
  },
  event_id_conflict: {
    status: 409,
    title: 'The event id is taken by other content',
    explanation:
      'A measurement with this event_id was accepted before with another sensor, temp or ' +
      'timestamp; `existing` shows it. This one was not stored. Do not send it again.',
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
      '`errors` lists every fault with a pointer to it. Nothing was stored. Correct the request; ' +
      'of a batch set the elements named aside and send the others.',
  },
  range_too_large: {
    status: 422,
    title: 'The period is too long',
    explanation: 'Ask for a shorter period or a coarser bucket; `suggested_bucket` names one.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    explanation: 'The allowance of this minute is used up. Retry-After says when to go on.',
  },
  internal_error: {
    status: 500,
    title: 'An error of ours',
    explanation:
      'Something failed that should not; the operator finds it by the request id. Whether ' +
      'anything was stored is not known: send the same again later.',
  },
  provider_failed: {
    status: 502,
    title: 'The identity provider failed',
    explanation: 'The identity provider failed or its answer does not verify. Try again later.',
  },
  provider_timeout: {
    status: 504,
    title: 'The identity provider does not answer',
    explanation: 'The identity provider did not answer in time. Try again later.',
  },
  overloaded: {
    status: 503,
    title: 'Too busy at the moment',
    explanation: 'The queue or the journal is full. Send the same again after Retry-After.',
  },
  storage_full: {
    status: 503,
    title: 'The disk is full',
    explanation: 'The server has too little disk space left. Keep the data and send it later.',
  },
  history_unavailable: {
    status: 503,
    title: 'History is out of reach',
    explanation:
      'The measurement store cannot be read at the moment. Nothing is lost. Ask again after ' +
      'Retry-After.',
  },
  clock_unset: {
    status: 503,
    title: 'The clock of the server is wrong',
    explanation: 'The clock of the server is before the day of its version. Send it later.',
  },
  shutting_down: {
    status: 503,
    title: 'The server is stopping',
    explanation: 'The server takes no new requests. Send the same again after Retry-After.',
  },
}

/** Codes of our own inside `errors`; the others there are keywords of JSON Schema. */
const FAULT_EXPLANATIONS = {
  timestamp_in_future: {
    title: 'The timestamp lies in the future',
    explanation:
      'The timestamp is further ahead of the server than is allowed. Keep the event, check your ' +
      'clock against `server_time` and send it again.',
  },
  timestamp_too_old: {
    title: 'The timestamp is too old',
    explanation:
      'The timestamp is before the earliest one that this server takes. Check the clock of the ' +
      'sensor; set the measurement aside.',
  },
  too_many_at_one_time: {
    title: 'Too many measurements at one time',
    explanation:
      'The sensor already has a million measurements at this millisecond. Give measurements the ' +
      'times at which they were taken.',
  },
  lone_surrogate: {
    title: 'The text is not well-formed Unicode',
    explanation:
      'The text holds half of a surrogate pair, which no UTF-8 can carry. Cut texts between ' +
      'characters only.',
  },
  repeated_parameter: {
    title: 'A parameter is there twice',
    explanation: 'Each query parameter may be given once.',
  },
  unknown_redirect_uri: {
    title: 'The redirect URI is not configured',
    explanation: '`redirect_uri` must equal one that the server was set up with, byte for byte.',
  },
  from_not_before_to: {
    title: 'The period is empty',
    explanation: '`from` must be before `to`. Left out, `from` is 24 hours before `to`.',
  },
  unknown_time_zone: {
    title: 'The time zone is not known',
    explanation: '`tz` names a zone of the IANA time zone database, such as Europe/Berlin.',
  },
  time_zone_not_allowed: {
    title: 'No time zone with this bucket',
    explanation: '`tz` goes with the buckets day and auto; the others are the same in all zones.',
  },
  fill_not_allowed: {
    title: 'Nothing to fill',
    explanation: '`fill` goes with buckets; `raw` lists single measurements: leave it out there.',
  },
} as const

/** Status, title and explanation of a code. */
export function problemOf(code: ErrorCode): Problem {
  return PROBLEMS[code]
}

/** Every code with what it means, by status. */
export function allProblems(): readonly (Problem & { readonly code: ErrorCode })[] {
  return Object.entries(PROBLEMS)
    .map(([code, problem]) => ({ code: code as ErrorCode, ...problem }))
    .toSorted((one, other) => one.status - other.status)
}

/** Every code that GET /problems/{code} knows. */
export function explainedCodes(): readonly string[] {
  return [...Object.keys(PROBLEMS), ...Object.keys(FAULT_EXPLANATIONS)].toSorted()
}

/** What GET /problems/{code} tells, or `undefined` for a code that does not exist. */
export function explanationOf(
  code: string,
): { title: string; explanation: string; status?: number } | undefined {
  if (Object.hasOwn(PROBLEMS, code)) return PROBLEMS[code as ErrorCode]
  if (Object.hasOwn(FAULT_EXPLANATIONS, code)) {
    return FAULT_EXPLANATIONS[code as keyof typeof FAULT_EXPLANATIONS]
  }
  return undefined
}
