// A fault at one step after the other: first a round is counted, to know how many calls change its
// files; then rounds follow in which the fault befalls the first call, a later one, and so on to
// the last. Each round is checked by the service that is started after it.

import { expect } from 'chai'
import type { DiskFault, DiskFaults } from './disk-faults.ts'
import type { FaultyService } from './faulty-service.ts'

export interface Sweep extends Omit<DiskFault, 'at'> {
  /** So many calls are hit, evenly over a round; all of them when there are fewer. */
  readonly points: number
  /** Told of each call, counted from 1, before it is hit. */
  readonly onPoint?: (point: number, count: number) => void
}

/** A fault while the service works, and while it stops. @returns what was hit */
export async function sweepRounds(
  faults: DiskFaults,
  service: FaultyService,
  { points, onPoint, ...fault }: Sweep,
): Promise<Set<string>> {
  await service.start()
  await service.prepare()
  faults.order({ ...fault, action: 'count', at: Number.MAX_SAFE_INTEGER })
  await service.runRound()
  await service.stop()
  const calls = faults.counted()
  expect(calls).to.be.greaterThan(0)
  const hit = new Set<string>()
  const count = Math.min(points, calls)
  for (let point = 1; point <= count; point++) {
    onPoint?.(point, count)
    faults.rest()
    if (!service.isRunning) expect(await service.start()).to.equal(true)
    await service.check()
    faults.order({ ...fault, at: Math.ceil((calls * point) / count) })
    await service.runRound()
    await service.stop()
    hit.add(faults.last())
  }
  faults.rest()
  await service.checkHere()
  return hit
}

/**
 * A fault while the service makes its files, each time in another directory.
 *
 * @param create makes a service on a directory of its own
 * @returns how many starts came to their end before the fault
 */
export async function sweepFirstStart(
  faults: DiskFaults,
  create: () => FaultyService,
  { points, onPoint, ...fault }: Sweep,
): Promise<void> {
  faults.order({ ...fault, action: 'count', at: Number.MAX_SAFE_INTEGER })
  const whole = create()
  expect(await whole.start()).to.equal(true)
  const calls = faults.counted()
  await whole.stop()
  const count = Math.min(points, calls)
  for (let point = 1; point <= count; point++) {
    onPoint?.(point, count)
    const service = create()
    faults.order({ ...fault, at: Math.ceil((calls * point) / count) })
    await service.start()
    faults.rest()
    await service.stop('SIGKILL')
    await service.startHere().catch((cause: unknown) => {
      throw new Error(`a start after ${faults.last()}`, { cause })
    })
    await service.prepare()
    await service.runRound()
    await service.check()
    await service.stop()
  }
}
