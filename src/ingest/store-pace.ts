// Keeps commits in step with an embedded measurement store, for readers. The store shares the
// processors with everything else: under full load it falls behind, and readers wait until it has
// what was acknowledged before. So while a reader waits and the store has much to catch up with,
// commits wait too. The work stays the same, only its order changes.
//
// A store without progress holds nobody up: a commit that has waited in vain goes on, and so do all
// others until the store makes progress.

import type { Clock } from '../ports/system.ts'

/** Beyond the maximum, the store lags for some other reason, and waiting would not help. */
const CATCHES_UP_WITH = { measurementsMin: 8_000, measurementsMax: 100_000 }

const WAIT_MS_MAX: number = 250

export class StorePace {
  readonly #clock: Clock
  readonly #onGoOn: () => void
  /** While commits wait, or have waited in vain: the end of the wait. */
  #waitUntilMs: number | undefined

  /** @param onGoOn called when waiting commits may go on */
  constructor(clock: Clock, onGoOn: () => void) {
    this.#clock = clock
    this.#onGoOn = onGoOn
  }

  /** Whether a commit must wait, given how many measurements are not readable yet. */
  mustWait(unreadable: number): boolean {
    const { measurementsMin, measurementsMax } = CATCHES_UP_WITH
    if (unreadable < measurementsMin || unreadable > measurementsMax) return false
    const nowMs = this.#clock.monotonicMs()
    if (this.#waitUntilMs === undefined) {
      this.#waitUntilMs = nowMs + WAIT_MS_MAX
      // One more, because a timer may be early.
      setTimeout(this.#onGoOn, WAIT_MS_MAX + 1)
    }
    return nowMs < this.#waitUntilMs
  }

  /** The store has accepted measurements. */
  noteReadable(): void {
    if (this.#waitUntilMs === undefined) return
    this.#waitUntilMs = undefined
    this.#onGoOn()
  }
}
