import { MemoryLeases } from '../../src/memory/leases.ts'
import { MemoryRateCounters } from '../../src/memory/rate-counters.ts'
import { MemorySignInCodes } from '../../src/memory/sign-in-codes.ts'
import { describeSharedState } from '../contract/shared-state.ts'

describeSharedState('in memory', async () => {
  let nowMs = 0
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs }
  const leases = new MemoryLeases(clock)
  const codes = new MemorySignInCodes(clock)
  const rateCounters = new MemoryRateCounters()
  return {
    processes: [
      { leases: leases.of('one'), codes, rateCounters },
      { leases: leases.of('other'), codes, rateCounters },
    ],
    advanceMs: async (ms) => {
      nowMs += ms
    },
    close: async () => undefined,
  }
})
