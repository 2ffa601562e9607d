// A clock that stands still until a test moves it.

import type { Clock } from '../../src/ports/system.ts'

export class FakeClock implements Clock {
  #nowMs: number

  constructor(now = '2026-11-20T10:15:02.113Z') {
    this.#nowMs = Date.parse(now)
  }

  nowMs(): number {
    return this.#nowMs
  }

  monotonicMs(): number {
    return performance.now()
  }

  advanceMs(ms: number): void {
    this.#nowMs += ms
  }

  set(now: string): void {
    this.#nowMs = Date.parse(now)
  }
}
