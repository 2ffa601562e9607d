// The allowance of each token: requests and measurements a minute; and of each address: attempts to
// sign in, and tokens that are not valid. Every authenticated answer says what is left of it
// (draft-ietf-httpapi-ratelimit-headers).

import type { IncomingMessage, ServerResponse } from 'node:http'
import { ServiceError } from '../../domain/errors.ts'
import { MINUTE_MS, SECOND_MS } from '../../domain/time.ts'
import type { RateCounter, RateCounters, RateState } from '../../ports/rate-counters.ts'
import { clientKey } from './client-address.ts'
import type { ClientAddresses } from './client-address.ts'

const WINDOW_MS = MINUTE_MS

export interface RateLimitsSettings {
  /** A token and minute; 0 is off. */
  readonly requestsPerMinute: number
  /** A token and minute; 0 is off. */
  readonly measurementsPerMinute: number
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
  readonly #policy: string

  constructor(
    counters: RateCounters,
    { requestsPerMinute, measurementsPerMinute }: RateLimitsSettings,
  ) {
    this.#requests = limitOf(counters, 'requests', requestsPerMinute)
    this.#measurements = limitOf(counters, 'measurements', measurementsPerMinute)
    this.#policy = [
      requestsPerMinute > 0 && `"requests";q=${requestsPerMinute};w=${WINDOW_MS / SECOND_MS}`,
      measurementsPerMinute > 0 &&
        `"measurements";q=${measurementsPerMinute};w=${WINDOW_MS / SECOND_MS}`,
    ]
      .filter(Boolean)
      .join(', ')
  }

  /**
   * @returns what a submission is refused with when the token has used up its measurements
   * @throws ServiceError `rate_limited` when the token has used up its requests
   */
  async countRequest(tokenId: number, response: ServerResponse): Promise<ServiceError | undefined> {
    if (this.#policy === '') return undefined
    const requests = await this.#requests?.counter.count(tokenId, 1)
    const measurements = await this.#measurements?.counter.count(tokenId, 0)
    response.setHeader('RateLimit-Policy', this.#policy)
    response.setHeader('RateLimit', stateOf(requests, measurements))
    if (this.#requests && requests && requests.consumedPoints > this.#requests.points) {
      throw rateLimited(requests)
    }
    if (!this.#measurements || !measurements) return undefined
    const isSpent = measurements.consumedPoints >= this.#measurements.points
    return isSpent ? rateLimited(measurements) : undefined
  }

  /** Counts measurements of a submission that is refused for another reason. */
  async chargeRefused(tokenId: number, count: number, response: ServerResponse): Promise<void> {
    if (this.#measurements === undefined) return
    await this.#charge(this.#measurements, { tokenId, count }, response)
  }

  /**
   * Admits all of them while any allowance is left.
   *
   * @throws ServiceError `rate_limited` when there was none
   */
  async countMeasurements(tokenId: number, count: number, response: ServerResponse): Promise<void> {
    if (this.#measurements === undefined) return
    const measurements = await this.#charge(this.#measurements, { tokenId, count }, response)
    if (measurements.consumedPoints - count >= this.#measurements.points) {
      throw rateLimited(measurements)
    }
  }

  async #charge(
    limit: Limit,
    { tokenId, count }: { tokenId: number; count: number },
    response: ServerResponse,
  ): Promise<RateState> {
    const measurements = await limit.counter.count(tokenId, count)
    const requests = await this.#requests?.counter.count(tokenId, 0)
    response.setHeader('RateLimit', stateOf(requests, measurements))
    return measurements
  }
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

function stateOf(requests: RateState | undefined, measurements: RateState | undefined): string {
  const ofRequests = requests ? itemOf('"requests"', requests) : ''
  if (measurements === undefined) return ofRequests
  const ofMeasurements = itemOf('"measurements"', measurements)
  return requests ? `${ofRequests}, ${ofMeasurements}` : ofMeasurements
}

function itemOf(name: string, state: RateState): string {
  return `${name};r=${state.remainingPoints};t=${secondsLeft(state)}`
}

function secondsLeft(state: RateState): number {
  return Math.ceil(state.msBeforeNext / SECOND_MS)
}

function rateLimited(state: RateState): ServiceError {
  return new ServiceError('rate_limited', { retryAfterSeconds: secondsLeft(state) })
}
