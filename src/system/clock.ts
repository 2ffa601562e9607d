// The machine's two clocks. Nothing else in the service reads the time.

import type { Clock } from '../ports/system.ts'

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
}
