// Rate limits: for each token requests and measurements per minute, and a small allowance of live
// measurements for when those are used up; for each address sign-in attempts, invalid tokens and
// statements without a token. Every authenticated response reports what is left
// (draft-ietf-httpapi-ratelimit-headers).

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AccessToken } from '../../domain/access.ts'
import { ServiceError } from '../../domain/errors.ts'
import { liveMeasurementsMax } from '../../domain/limits.ts'
import type { SubmittedMeasurements } from '../../domain/measurement.ts'
import { MINUTE_MS, SECOND_MS } from '../../domain/time.ts'
import type { RateCounter, RateCounters, RateState } from '../../ports/rate-counters.ts'

const PERIOD_MS = MINUTE_MS

/** The live allowance as a share of the measurement allowance. */
const LIVE_SHARE = 1 / 10

export interface RateLimitsSettings {
  /** Per token and minute; 0: no limit. */
  readonly requestsPerMinute: number
  /** Per token and minute; 0: no limit. */
  readonly measurementsPerMinute: number
  /** Measurements younger than this are live. */
  readonly offlineAfterMs: number
}

/** A submission as it is counted. */
interface CountedSubmission {
  readonly receivedAtMs: number
  readonly measurements: SubmittedMeasurements
  /** How many are charged: more than these where some cannot be stored. */
  readonly count: number
  /** Whether these are only the first of more, which are charged one after another. */
  readonly hasMore?: boolean
}

/** A counter and its limit. */
interface Limit {
  readonly counter: RateCounter
  readonly points: number
}

/** Identifies the client of a request for counting; `undefined`: it has no limit. */
type ClientKey = (request: IncomingMessage) => string | undefined

/** Counts attempts by client address: sign-ins, or requests with an invalid token or none. */
export class AddressLimit {
  readonly #limit: Limit | undefined
  readonly #keyOf: ClientKey

  constructor(limit: Limit | undefined, keyOf: ClientKey) {
    this.#limit = limit
    this.#keyOf = keyOf
  }

  /** @throws ServiceError `rate_limited` when the address has used up its attempts */
  async count(request: IncomingMessage): Promise<void> {
    if (this.#limit === undefined) return
    const key = this.#keyOf(request)
    if (key === undefined) return
    const { counter, points } = this.#limit
    const attempts = await counter.count(key, 1)
    if (attempts.consumedPoints > points) throw rateLimited(attempts)
  }
}

/** Counts what tokens do, and reports what is left in the headers of the response. */
export class RateLimits {
  readonly #requests: Limit | undefined
  readonly #measurements: Limit | undefined
  readonly #live: Limit | undefined
  readonly #liveAgeMsMax: number
  readonly #policy: string

  constructor(
    counters: RateCounters,
    { requestsPerMinute, measurementsPerMinute, offlineAfterMs }: RateLimitsSettings,
  ) {
    this.#requests = limitOf(counters, 'requests', requestsPerMinute)
    this.#measurements = limitOf(counters, 'measurements', measurementsPerMinute)
    const livePerMinute = Math.ceil(measurementsPerMinute * LIVE_SHARE)
    this.#live = limitOf(counters, 'live', livePerMinute)
    this.#liveAgeMsMax = offlineAfterMs
    const limits = { requests: this.#requests, measurements: this.#measurements, live: this.#live }
    this.#policy = Object.entries(limits)
      .flatMap(([name, limit]) => (limit ? [policyOf(name, limit)] : []))
      .join(', ')
  }

  /**
   * @returns the refusal for a submission if the token has used up its measurements, including
   *   the live ones
   * @throws ServiceError `rate_limited` when the token has used up its requests
   */
  async countRequest(
    token: AccessToken,
    response: ServerResponse,
  ): Promise<ServiceError | undefined> {
    if (this.#policy === '') return undefined
    const key = allowanceKey(token)
    const requests = await this.#requests?.counter.count(key, 1)
    const measurements = await this.#measurements?.counter.count(key, 0)
    const live = await this.#live?.counter.count(key, 0)
    response.setHeader('RateLimit-Policy', this.#policy)
    response.setHeader('RateLimit', stateOf({ requests, measurements, live }))
    if (this.#requests && requests && requests.consumedPoints > this.#requests.points) {
      throw rateLimited(requests)
    }
    if (!isSpent(this.#measurements, measurements) || !isSpent(this.#live, live)) return undefined
    return rateLimited(measurements)
  }

  /** Counts measurements of a submission that is admitted, or refused for another reason. */
  async charge(token: AccessToken, count: number, response: ServerResponse): Promise<void> {
    if (this.#measurements === undefined) return
    await this.#charge(this.#measurements, { token, count }, response)
  }

  /**
   * Admits the whole submission if any allowance is left: of measurements or, if those are used up,
   * of live measurements.
   *
   * @throws ServiceError `rate_limited` if none is left
   */
  async countMeasurements(
    token: AccessToken,
    submission: CountedSubmission,
    response: ServerResponse,
  ): Promise<void> {
    if (this.#measurements === undefined || this.#live === undefined) return
    const { count } = submission
    const isLive = this.#isLive(submission)
    const measurements = await this.#charge(this.#measurements, { token, count }, response)
    if (!isSpent(this.#measurements, measurements, count)) return
    if (!isLive) throw rateLimited(measurements)
    const live = await this.#charge(this.#live, { token, count }, response)
    if (isSpent(this.#live, live, count)) throw rateLimited(measurements)
  }

  #isLive(submission: CountedSubmission): boolean {
    const { receivedAtMs, measurements, count, hasMore = false } = submission
    if (hasMore || count > liveMeasurementsMax) return false
    for (let index = 0; index < measurements.length; index++) {
      const measuredAtMs = measurements.at(index)?.measuredAtMs ?? receivedAtMs
      if (receivedAtMs - measuredAtMs >= this.#liveAgeMsMax) return false
    }
    return true
  }

  async #charge(
    limit: Limit,
    { token, count }: { token: AccessToken; count: number },
    response: ServerResponse,
  ): Promise<RateState> {
    const key = allowanceKey(token)
    const stateAfter = (of: Limit | undefined) => of?.counter.count(key, of === limit ? count : 0)
    const requests = await stateAfter(this.#requests)
    const measurements = await stateAfter(this.#measurements)
    const live = await stateAfter(this.#live)
    response.setHeader('RateLimit', stateOf({ requests, measurements, live }))
    const charged = limit === this.#live ? live : measurements
    if (charged === undefined) throw new Error('BUG: an allowance that is off was charged')
    return charged
  }
}

/** Who uses an allowance: a token, or all those that one person has made. */
function allowanceKey({ id, userId, madeInSessionId }: AccessToken): number | string {
  return madeInSessionId === null ? id : `of user ${userId}`
}

/** Bytes of an unreadable body charged as one measurement; most measurements are smaller. */
const BYTES_PER_CHARGE = 256

/** The charge for an unreadable body, in measurements: reading it took time too. */
export function chargeOf(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_CHARGE)
}

/** @param perMinute per key; 0: no limit */
export function limitOf(
  counters: RateCounters,
  name: string,
  perMinute: number,
): Limit | undefined {
  if (perMinute === 0) return undefined
  const counter = counters.open(name, { points: perMinute, periodMs: PERIOD_MS })
  return { counter, points: perMinute }
}

/** @param count points in the state to ignore, because they have just been counted */
function isSpent(
  limit: Limit | undefined,
  state: RateState | undefined,
  count = 0,
): state is RateState {
  if (limit === undefined || state === undefined) return false
  return state.consumedPoints - count >= limit.points
}

function policyOf(name: string, { points }: Limit): string {
  return `"${name}";q=${points};w=${PERIOD_MS / SECOND_MS}`
}

/** The states of allowances by name, without those that are off. */
function stateOf(states: Readonly<Record<string, RateState | undefined>>): string {
  return Object.entries(states)
    .flatMap(([name, state]) =>
      state ? [`"${name}";r=${state.remainingPoints};t=${secondsLeft(state)}`] : [],
    )
    .join(', ')
}

function secondsLeft(state: RateState): number {
  return Math.ceil(state.msBeforeNext / SECOND_MS)
}

function rateLimited(state: RateState): ServiceError {
  return new ServiceError('rate_limited', { retryAfterSeconds: secondsLeft(state) })
}
