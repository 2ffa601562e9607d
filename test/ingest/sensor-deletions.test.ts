// Goal: one sensor that cannot be deleted holds up no other, and is tried again at a pace that a
// store in trouble can bear. Method: a store that refuses as it is told, and a clock that goes on
// by a second with each look.

import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { StoreUnavailable } from '../../src/domain/errors.ts'
import { SensorDeletions } from '../../src/ingest/sensor-deletions.ts'
import { RecordingLog } from '../support/log.ts'

const LOOK_MS = 1_000

interface Story {
  readonly isRefused: (sensorId: number) => boolean
  readonly unknownOutcomeAtMs?: number
  readonly passesMin?: number
  /** Whether another process has the lease. */
  readonly isHeldElsewhere?: boolean
  /** Until then, no jobs can be read. */
  readonly isDamagedUntilMs?: number
}

async function run(looks: number, story: Story) {
  const { isRefused, unknownOutcomeAtMs, passesMin = 1, isHeldElsewhere = false } = story
  const { isDamagedUntilMs = 0 } = story
  const log = new RecordingLog()
  const tried: { sensorId: number; atMs: number }[] = []
  const due = new Map([1, 2].map((sensorId) => [sensorId, { passes: 0, dueAtMs: 0 }]))
  let nowMs = 0
  const deletions = new SensorDeletions(
    {
      jobs: {
        due: async () => {
          if (nowMs < isDamagedUntilMs) throw new Error('invalid page')
          return [...due]
            .filter(([, { dueAtMs }]) => dueAtMs <= nowMs)
            .map(([sensorId, { passes }]) => {
              return { userId: 1, sensorId, passes, range: { startMs: 0, stopMs: 1 } }
            })
        },
        notePass: async ({ sensorId, passes }, dueAtMs) => {
          if (dueAtMs === undefined) due.delete(sensorId)
          else due.set(sensorId, { passes: passes + 1, dueAtMs })
        },
      },
      leases: { take: async () => !isHeldElsewhere, release: async () => undefined },
      writer: {
        write: async () => [],
        sync: async () => undefined,
        deleteSensor: async ({ sensorId }) => {
          tried.push({ sensorId, atMs: nowMs })
          if (isRefused(sensorId)) throw new StoreUnavailable('down')
        },
        life: async () => undefined,
        close: async () => undefined,
      },
      lastUnknownOutcomeAtMs: () => unknownOutcomeAtMs ?? -Infinity,
      pause: async () => {
        nowMs += LOOK_MS
        await setImmediate()
      },
      random: () => 0,
      clock: { nowMs: () => nowMs, monotonicMs: () => nowMs },
      log,
    },
    { passesMin, passGapMs: 60_000, lookEveryMs: LOOK_MS },
  )
  deletions.start()
  while (nowMs < looks * LOOK_MS) await setImmediate()
  await deletions.stop()
  const triesOf = (sensorId: number) =>
    tried.filter((one) => one.sensorId === sensorId).map(({ atMs }) => atMs / LOOK_MS)
  return { log, triesOf, left: [...due.keys()] }
}

describe('SensorDeletions', () => {
  it('tries again ever more slowly, says so once, and goes on with the others', async () => {
    const { log, triesOf, left } = await run(60, { isRefused: (sensorId) => sensorId === 1 })
    expect(triesOf(2)).to.deep.equal([0])
    expect(left).to.deep.equal([1])
    expect(triesOf(1).length).to.be.within(8, 16)
    expect(log.events.filter(({ level }) => level === 'warn')).to.have.lengthOf(1)
  })

  it('survives whatever keeps it from reading the jobs, and says so once', async () => {
    const story = { isRefused: () => false, isDamagedUntilMs: 3 * LOOK_MS }
    const { log, left } = await run(5, story)
    expect(left).to.deep.equal([])
    const told = log.events.filter(({ level }) => level === 'error')
    expect(told).to.have.lengthOf(1)
  })

  it('deletes nothing while another process does', async () => {
    const { triesOf, left } = await run(10, { isRefused: () => false, isHeldElsewhere: true })
    expect([triesOf(1), triesOf(2)]).to.deep.equal([[], []])
    expect(left).to.deep.equal([1, 2])
  })

  it('deletes twice where the store can bring back what it has deleted', async () => {
    const { triesOf, left } = await run(70, { isRefused: () => false, passesMin: 2 })
    expect(triesOf(1)).to.deep.equal([0, 60])
    expect(left).to.deep.equal([])
  })

  it('deletes again after a write that may have arrived since', async () => {
    const story = { isRefused: () => false, passesMin: 2, unknownOutcomeAtMs: 30_000 }
    expect((await run(200, story)).triesOf(1)).to.deep.equal([0, 60, 120])
  })
})
