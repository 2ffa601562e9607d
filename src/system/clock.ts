// The machine's clocks. Nothing else in the service reads the time.

import { uptime } from 'node:os'
import type { MachineClock } from '../ports/system.ts'

export const systemClock: MachineClock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  uptimeMs: () => Math.round(uptime() * 1_000),
}
