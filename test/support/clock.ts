// A clock that stands still until a test moves it.

import type { ClockWatch, MachineClock } from '../../src/ports/system.ts'

export const BELIEVED: ClockWatch = { doubt: undefined, isOfNow: () => true }

export class FakeClock implements MachineClock {
  #nowMs: number
  /** By how much the wall clock was moved, and no time passed. */
  #movedMs = 0

  constructor(now = '2026-11-20T10:15:02.113Z') {
    this.#nowMs = Date.parse(now)
  }

  nowMs(): number {
    return this.#nowMs + this.#movedMs
  }

  uptimeMs(): number {
    return this.#nowMs
  }

  monotonicMs(): number {
    return performance.now()
  }

  /** Time passes. */
  advanceMs(ms: number): void {
    this.#nowMs += ms
  }

  set(now: string): void {
    this.#nowMs = Date.parse(now) - this.#movedMs
  }

  /** Somebody sets the wall clock. */
  moveMs(ms: number): void {
    this.#movedMs += ms
  }
}
