// Keeping pace with a measurement store in the same process, for those who read. It shares the
// processors with everything else: under a load that takes them all it falls behind, and who reads
// waits until it has what was acknowledged before. So while somebody waits and it has much to catch
// up with, commits wait too. The work is the same, in another order.
//
// A store that does not get on holds nobody up: whoever has waited in vain goes on, and so does
// everybody after it until the store does.

import type { Clock } from '../ports/system.ts'

/** With more than the greater number the store does not keep pace for another reason. */
const CATCHES_UP_WITH = { measurementsMin: 8_000, measurementsMax: 100_000 }

const WAIT_MS_MAX: number = 250

export class StorePace {
  readonly #clock: Clock
  readonly #onGoOn: () => void
  /** While commits wait, or have waited in vain: until when. */
  #waitUntilMs: number | undefined

  /** @param onGoOn what has waited may go on */
  constructor(clock: Clock, onGoOn: () => void) {
    this.#clock = clock
    this.#onGoOn = onGoOn
  }

  /** Whether a commit has to wait, where the store does not show so many measurements. */
  mustWait(unreadable: number): boolean {
    const { measurementsMin, measurementsMax } = CATCHES_UP_WITH
    if (unreadable < measurementsMin || unreadable > measurementsMax) return false
    const nowMs = this.#clock.monotonicMs()
    if (this.#waitUntilMs === undefined) {
      this.#waitUntilMs = nowMs + WAIT_MS_MAX
      // One more, for a timer may be early.
      setTimeout(this.#onGoOn, WAIT_MS_MAX + 1)
    }
    return nowMs < this.#waitUntilMs
  }

  /** The store has taken measurements. */
  noteReadable(): void {
    if (this.#waitUntilMs === undefined) return
    this.#waitUntilMs = undefined
    this.#onGoOn()
  }
}
