// Errors reported to a client or an operator. A code is stable and documented:
// http/answers/problems.ts has its status and texts, http/answers/problem-example.ts an example,
// openapi/descriptions.ts the routes that return it, and docs/api.md lists it.

import { RESTORE_BACKUP } from './finding.ts'

export type ErrorCode =
  | 'malformed_json'
  | 'invalid_request'
  | 'invalid_grant'
  | 'missing_token'
  | 'invalid_token'
  | 'wrong_token_kind'
  | 'insufficient_scope'
  | 'sign_in_again'
  | 'sign_in_not_allowed'
  | 'unknown_sensor'
  | 'sensor_quota'
  | 'not_found'
  | 'sensor_not_found'
  | 'unknown_provider'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'event_id_conflict'
  | 'length_required'
  | 'headers_too_large'
  | 'body_too_large'
  | 'batch_too_large'
  | 'unsupported_media_type'
  | 'unsupported_encoding'
  | 'validation_failed'
  | 'range_too_large'
  | 'rate_limited'
  | 'internal_error'
  | 'provider_failed'
  | 'provider_timeout'
  | 'overloaded'
  | 'storage_full'
  | 'history_unavailable'
  | 'clock_unset'
  | 'shutting_down'
  | 'outcome_unknown'
  | 'data_damaged'

/**
 * Keywords of JSON Schema, codes of our own, and three of problems. http/answers/faults.ts has
 * their texts, and docs/api.md lists them.
 */
export type FaultCode =
  | 'additionalProperties'
  | 'const'
  | 'enum'
  | 'format'
  | 'maxItems'
  | 'maxLength'
  | 'maxProperties'
  | 'maximum'
  | 'minItems'
  | 'minLength'
  | 'minProperties'
  | 'minimum'
  | 'pattern'
  | 'required'
  | 'type'
  | 'timestamp_in_future'
  | 'timestamp_too_old'
  | 'too_many_at_one_time'
  | 'lone_surrogate'
  | 'repeated_member'
  | 'repeated_parameter'
  | 'unknown_redirect_uri'
  | 'too_many_tokens'
  | 'from_not_before_to'
  | 'unknown_time_zone'
  | 'time_zone_not_allowed'
  | 'fill_not_allowed'
  | 'sensor_not_found'
  | 'sensor_quota'
  | 'unknown_sensor'

/** One fault of a request. `pointer` is a JSON pointer into the body, or `/name` of a parameter. */
export interface RequestFault {
  readonly pointer: string
  readonly code: FaultCode
  readonly detail: string
  /** Index of an element of a batch, and its event id if readable. */
  readonly index?: number
  readonly event_id?: string
}

export interface ServiceErrorOptions {
  /** Shown to the client; one sentence about this particular request. */
  readonly detail?: string
  /** Every fault found, for codes that list them. */
  readonly faults?: readonly RequestFault[]
  /** Further public members of the problem document, named as on the wire. */
  readonly members?: Readonly<Record<string, unknown>>
  /** When to retry. */
  readonly retryAfterSeconds?: number
  /** For the operator's log only. */
  readonly hint?: string
  readonly cause?: unknown
}

/** An error with a stable code. `detail`, `faults` and `members` are public, the rest is not. */
export class ServiceError extends Error {
  readonly code: ErrorCode
  readonly detail: string | undefined
  readonly faults: readonly RequestFault[] | undefined
  readonly members: Readonly<Record<string, unknown>>
  readonly retryAfterSeconds: number | undefined
  readonly hint: string | undefined

  constructor(code: ErrorCode, options: ServiceErrorOptions = {}) {
    super(
      options.detail ?? code,
      options.cause === undefined ? undefined : { cause: options.cause },
    )
    this.name = 'ServiceError'
    this.code = code
    this.detail = options.detail
    this.faults = options.faults
    this.members = options.members ?? {}
    this.retryAfterSeconds = options.retryAfterSeconds
    this.hint = options.hint
  }
}

/**
 * The measurement store accepted nothing, or it is unknown what it accepted: write the same again.
 */
export class StoreUnavailable extends Error {
  /** When the store asked to be tried again. */
  readonly retryAfterMs: number | undefined
  /** Whether a setting or a permission is wrong, so that retrying helps only after a change. */
  readonly isPaused: boolean
  /** Whether what was written may still arrive later. */
  readonly isOutcomeUnknown: boolean

  constructor(
    message: string,
    options: {
      readonly retryAfterMs?: number | undefined
      readonly isPaused?: boolean
      readonly isOutcomeUnknown?: boolean
      readonly cause?: unknown
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'StoreUnavailable'
    this.retryAfterMs = options.retryAfterMs
    this.isPaused = options.isPaused ?? false
    this.isOutcomeUnknown = options.isOutcomeUnknown ?? false
  }
}

/** Another process is using the data directory. */
export class DataDirInUse extends Error {
  /** Whether commands may soon reach it, or it soon ends. */
  readonly isPassing: boolean

  constructor(message: string, isPassing: boolean) {
    super(message)
    this.name = 'DataDirInUse'
    this.isPassing = isPassing
  }
}

/** Data have the format of another version of Thermolog. */
export class OtherFormat extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'OtherFormat'
  }
}

/** Throws on a broken invariant: our own bug, never a fault of a request. */
export function assert(isTrue: boolean, invariant: string): asserts isTrue {
  if (!isTrue) throw new Error(`BUG: ${invariant}`)
}

/** What keeps submissions from being taken for a while. */
export type Obstacle = 'overloaded' | 'storage_full' | 'clock_unset' | 'shutting_down'

type Postponed = Obstacle | 'outcome_unknown' | 'data_damaged'

const RETRY_AFTER_SECONDS: Readonly<Record<Postponed, number>> = {
  overloaded: 1,
  storage_full: 60,
  clock_unset: 30,
  shutting_down: 5,
  outcome_unknown: 1,
  data_damaged: 60,
}

/** Whether the same request may succeed later: its answer says when. */
export function isPostponed(code: ErrorCode): code is Postponed {
  return code in RETRY_AFTER_SECONDS
}

/** An obstacle, or the unknown outcome of a commit, as the error for the client. */
export function postponedError(
  code: Postponed,
  options: Pick<ServiceErrorOptions, 'detail' | 'members' | 'hint' | 'cause'> = {},
): ServiceError {
  return new ServiceError(code, {
    retryAfterSeconds: RETRY_AFTER_SECONDS[code],
    ...(code === 'data_damaged' && { hint: RESTORE_BACKUP }),
    ...options,
  })
}
