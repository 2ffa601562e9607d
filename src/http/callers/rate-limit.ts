// The allowance of each token: requests and measurements a minute; and of each address: attempts to
// sign in, and tokens that are not valid. Every authenticated answer says what is left of it
// (draft-ietf-httpapi-ratelimit-headers). Counted in memory: a restart forgets.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import type { RateLimiterRes } from 'rate-limiter-flexible'
import { ServiceError } from '../../domain/errors.ts'
import { SECOND_MS } from '../../domain/time.ts'
import { clientKey } from './client-address.ts'
import type { ClientAddresses } from './client-address.ts'

const WINDOW_SECONDS = 60

export interface RateLimitsSettings {
  /** A token and minute; 0 is off. */
  readonly requestsPerMinute: number
  /** A token and minute; 0 is off. */
  readonly measurementsPerMinute: number
}

/** Counts attempts by the address of the client: to sign in, or with a token that is not valid. */
export class AddressLimit {
  readonly #limiter: RateLimiterMemory | undefined
  readonly #addresses: ClientAddresses

  /** @param perMinute an address; 0 is off */
  constructor(perMinute: number, addresses: ClientAddresses) {
    this.#limiter = limiterOf(perMinute)
    this.#addresses = addresses
  }

  /** @throws ServiceError `rate_limited` when the address has used up its attempts */
  async count(request: IncomingMessage): Promise<void> {
    if (this.#limiter === undefined) return
    const attempts = await this.#limiter.penalty(clientKey(this.#addresses.of(request)), 1)
    if (attempts.consumedPoints > this.#limiter.points) throw rateLimited(attempts)
  }
}

/** Counts what tokens do and says so in the headers of the answer. */
export class RateLimits {
  readonly #requests: RateLimiterMemory | undefined
  readonly #measurements: RateLimiterMemory | undefined
  readonly #policy: string

  constructor({ requestsPerMinute, measurementsPerMinute }: RateLimitsSettings) {
    this.#requests = limiterOf(requestsPerMinute)
    this.#measurements = limiterOf(measurementsPerMinute)
    this.#policy = [
      requestsPerMinute > 0 && `"requests";q=${requestsPerMinute};w=${WINDOW_SECONDS}`,
      measurementsPerMinute > 0 && `"measurements";q=${measurementsPerMinute};w=${WINDOW_SECONDS}`,
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
    const requests = await this.#requests?.penalty(tokenId, 1)
    const measurements = await this.#measurements?.penalty(tokenId, 0)
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
    limiter: RateLimiterMemory,
    { tokenId, count }: { tokenId: number; count: number },
    response: ServerResponse,
  ): Promise<RateLimiterRes> {
    const measurements = await limiter.penalty(tokenId, count)
    const requests = await this.#requests?.penalty(tokenId, 0)
    response.setHeader('RateLimit', stateOf(requests, measurements))
    return measurements
  }
}

function limiterOf(perMinute: number): RateLimiterMemory | undefined {
  if (perMinute === 0) return undefined
  return new RateLimiterMemory({ points: perMinute, duration: WINDOW_SECONDS })
}

function stateOf(
  requests: RateLimiterRes | undefined,
  measurements: RateLimiterRes | undefined,
): string {
  const ofRequests = requests ? itemOf('"requests"', requests) : ''
  if (measurements === undefined) return ofRequests
  const ofMeasurements = itemOf('"measurements"', measurements)
  return requests ? `${ofRequests}, ${ofMeasurements}` : ofMeasurements
}

function itemOf(name: string, state: RateLimiterRes): string {
  return `${name};r=${state.remainingPoints};t=${secondsLeft(state)}`
}

function secondsLeft(state: RateLimiterRes): number {
  return Math.ceil(state.msBeforeNext / SECOND_MS)
}

function rateLimited(state: RateLimiterRes): ServiceError {
  return new ServiceError('rate_limited', { retryAfterSeconds: secondsLeft(state) })
}
