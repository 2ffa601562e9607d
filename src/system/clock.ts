// The machine's two clocks. Nothing else in the service reads the time by itself.

import type { Clock } from '../ports.ts'

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
}
