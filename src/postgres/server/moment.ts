// A moment by both clocks, because either of them may stand still while the machine sleeps.

import type { Clock } from '../../ports/system.ts'

export interface Moment {
  readonly wallMs: number
  readonly monotonicMs: number
}

export function momentNow(clock: Clock): Moment {
  return { wallMs: clock.nowMs(), monotonicMs: clock.monotonicMs() }
}

/** How long ago it was, by the clock that says more. */
export function ageMsOf({ wallMs, monotonicMs }: Moment, clock: Clock): number {
  return Math.max(clock.nowMs() - wallMs, clock.monotonicMs() - monotonicMs)
}
