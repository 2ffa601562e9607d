// Timers that run when a test moves its clock: nobody waits.

import { mock } from 'node:test'
import type { Clock } from '../../src/ports/system.ts'

/** A clock with the timers of the process, from a hook until `stop`. */
export class TimerClock implements Clock {
  #nowMs = 0

  constructor() {
    mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  }

  nowMs(): number {
    return this.#nowMs
  }

  monotonicMs(): number {
    return this.#nowMs
  }

  /** Lets time pass, and runs what is due then. */
  advanceMs(ms: number): void {
    this.#nowMs += ms
    mock.timers.tick(ms)
  }

  /** Gives the process its own timers back. */
  stop(): void {
    mock.timers.reset()
  }
}
