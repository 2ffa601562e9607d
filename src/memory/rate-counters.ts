// RateCounters in memory, for one process; a restart forgets them.

import { RateLimiterMemory } from 'rate-limiter-flexible'
import { SECOND_MS } from '../domain/time.ts'
import type { RateAllowance, RateCounter, RateCounters } from '../ports/rate-counters.ts'

export class MemoryRateCounters implements RateCounters {
  readonly #counters = new Map<string, RateCounter>()

  open(name: string, { points, periodMs }: RateAllowance): RateCounter {
    const known = this.#counters.get(name)
    if (known !== undefined) return known
    const limiter = new RateLimiterMemory({ points, duration: periodMs / SECOND_MS })
    const counter: RateCounter = { count: (key, counted) => limiter.penalty(key, counted) }
    this.#counters.set(name, counter)
    return counter
  }
}
