// The allowance of each token: requests and measurements a minute, and a small one of live
// measurements for when those are spent; and of each address: attempts to sign in, and tokens that
// are not valid. Every authenticated response says what is left of it
// (draft-ietf-httpapi-ratelimit-headers).

import type { IncomingMessage, ServerResponse } from 'node:http'
import { ServiceError } from '../../domain/errors.ts'
import { liveMeasurementsMax } from '../../domain/limits.ts'
import type { SubmittedMeasurements } from '../../domain/measurement.ts'
import { MINUTE_MS, SECOND_MS } from '../../domain/time.ts'
import type { RateCounter, RateCounters, RateState } from '../../ports/rate-counters.ts'
import { clientKey } from './client-address.ts'
import type { ClientAddresses } from './client-address.ts'

const WINDOW_MS = MINUTE_MS

/** The live allowance as a share of the allowance of measurements. */
const LIVE_SHARE = 1 / 10

export interface RateLimitsSettings {
  /** A token and minute; 0 is off. */
  readonly requestsPerMinute: number
  /** A token and minute; 0 is off. */
  readonly measurementsPerMinute: number
  /** Measurements younger than this are live. */
  readonly offlineAfterMs: number
}

/** What a token submits. */
interface CountedSubmission {
  readonly receivedAtMs: number
  readonly measurements: SubmittedMeasurements
  /** Where more were sent than can be stored. */
  readonly count?: number
}

/** A counter and what it may reach. */
interface Limit {
  readonly counter: RateCounter
  readonly points: number
}

/** Counts attempts by the address of the client: to sign in, or with a token that is not valid. */
export class AddressLimit {
  readonly #limit: Limit | undefined
  readonly #addresses: ClientAddresses

  constructor(limit: Limit | undefined, addresses: ClientAddresses) {
    this.#limit = limit
    this.#addresses = addresses
  }

  /** @throws ServiceError `rate_limited` when the address has used up its attempts */
  async count(request: IncomingMessage): Promise<void> {
    if (this.#limit === undefined) return
    const { counter, points } = this.#limit
    const attempts = await counter.count(clientKey(this.#addresses.of(request)), 1)
    if (attempts.consumedPoints > points) throw rateLimited(attempts)
  }
}

/** Counts what tokens do and says so in the headers of the answer. */
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
   * @returns what a submission is refused with when the token has used up its measurements, the
   *   live ones included
   * @throws ServiceError `rate_limited` when the token has used up its requests
   */
  async countRequest(tokenId: number, response: ServerResponse): Promise<ServiceError | undefined> {
    if (this.#policy === '') return undefined
    const requests = await this.#requests?.counter.count(tokenId, 1)
    const measurements = await this.#measurements?.counter.count(tokenId, 0)
    const live = await this.#live?.counter.count(tokenId, 0)
    response.setHeader('RateLimit-Policy', this.#policy)
    response.setHeader('RateLimit', stateOf({ requests, measurements, live }))
    if (this.#requests && requests && requests.consumedPoints > this.#requests.points) {
      throw rateLimited(requests)
    }
    if (!isSpent(this.#measurements, measurements) || !isSpent(this.#live, live)) return undefined
    return rateLimited(measurements)
  }

  /** Counts measurements of a submission that is refused for another reason. */
  async chargeRefused(tokenId: number, count: number, response: ServerResponse): Promise<void> {
    if (this.#measurements === undefined) return
    await this.#charge(this.#measurements, { tokenId, count }, response)
  }

  /**
   * Admits all of them while any allowance is left: of measurements or, where that is spent, of
   * live measurements.
   *
   * @throws ServiceError `rate_limited` when there was none
   */
  async countMeasurements(
    tokenId: number,
    submission: CountedSubmission,
    response: ServerResponse,
  ): Promise<void> {
    if (this.#measurements === undefined || this.#live === undefined) return
    const isLive = this.#isLive(submission)
    const count = submission.count ?? submission.measurements.length
    const measurements = await this.#charge(this.#measurements, { tokenId, count }, response)
    if (!isSpent(this.#measurements, measurements, count)) return
    if (!isLive) throw rateLimited(measurements)
    const live = await this.#charge(this.#live, { tokenId, count }, response)
    if (isSpent(this.#live, live, count)) throw rateLimited(measurements)
  }

  #isLive({ receivedAtMs, measurements, count = measurements.length }: CountedSubmission): boolean {
    if (count > liveMeasurementsMax) return false
    for (let index = 0; index < measurements.length; index++) {
      const measuredAtMs = measurements.at(index)?.measuredAtMs ?? receivedAtMs
      if (receivedAtMs - measuredAtMs >= this.#liveAgeMsMax) return false
    }
    return true
  }

  async #charge(
    limit: Limit,
    { tokenId, count }: { tokenId: number; count: number },
    response: ServerResponse,
  ): Promise<RateState> {
    const stateAfter = (of: Limit | undefined) =>
      of?.counter.count(tokenId, of === limit ? count : 0)
    const requests = await stateAfter(this.#requests)
    const measurements = await stateAfter(this.#measurements)
    const live = await stateAfter(this.#live)
    response.setHeader('RateLimit', stateOf({ requests, measurements, live }))
    const charged = limit === this.#live ? live : measurements
    if (charged === undefined) throw new Error('BUG: an allowance that is off was charged')
    return charged
  }
}

/** Of a body that cannot be read, so many bytes are charged as one measurement; most have fewer. */
const BYTES_PER_CHARGE = 256

/** As how many measurements a body that cannot be read is charged: it took the time to read. */
export function chargeOf(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_CHARGE)
}

/** @param perMinute for each key; 0 is off */
export function limitOf(
  counters: RateCounters,
  name: string,
  perMinute: number,
): Limit | undefined {
  if (perMinute === 0) return undefined
  const counter = counters.open(name, { points: perMinute, windowMs: WINDOW_MS })
  return { counter, points: perMinute }
}

/** @param count points of the state that are not to be considered: they were counted just now */
function isSpent(
  limit: Limit | undefined,
  state: RateState | undefined,
  count = 0,
): state is RateState {
  if (limit === undefined || state === undefined) return false
  return state.consumedPoints - count >= limit.points
}

function policyOf(name: string, { points }: Limit): string {
  return `"${name}";q=${points};w=${WINDOW_MS / SECOND_MS}`
}

/** The states of allowances by name; those that are off are left out. */
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
