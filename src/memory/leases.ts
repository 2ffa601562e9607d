// Leases in memory, for owners within one process.

import type { Leases } from '../ports/leases.ts'
import type { Clock } from '../ports/system.ts'

interface Held {
  readonly owner: string
  readonly untilMs: number
}

export class MemoryLeases {
  readonly #clock: Clock
  readonly #held = new Map<string, Held>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  of(owner: string): Leases {
    return {
      take: async (name, forMs) => {
        const nowMs = this.#clock.monotonicMs()
        const held = this.#held.get(name)
        if (held !== undefined && held.owner !== owner && held.untilMs > nowMs) return false
        this.#held.set(name, { owner, untilMs: nowMs + forMs })
        return true
      },
      release: async (name) => {
        if (this.#held.get(name)?.owner === owner) this.#held.delete(name)
      },
    }
  }
}
