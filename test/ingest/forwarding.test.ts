// Goal: an end is never held up by a store that does not respond, and what is deleted stays away
// from a store that can bring it back. Method: a store that answers nothing until it is closed.

import { once } from 'node:events'
import { expect } from 'chai'
import { StoreUnavailable } from '../../src/domain/errors.ts'
import { Forwarding } from '../../src/ingest/forwarding.ts'
import type { MeasurementWriter } from '../../src/ports/measurement-store.ts'
import { FakeClock } from '../support/clock.ts'
import { RecordingLog } from '../support/log.ts'
import { batchOf } from '../support/measurements.ts'
import { until } from '../support/until.ts'

const MINUTE_MS = 60_000

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}

/** Of one row, and one sensor that is to be deleted. */
function forwardingInto(store: Partial<MeasurementWriter>, isStoreApart: boolean) {
  const clock = new FakeClock()
  const pausesMs: number[] = []
  const passes: (number | undefined)[] = []
  const released: string[] = []
  const batch = batchOf([{ sensorId: 2, measuredAtMs: 0, tempCelsius: 20 }])
  const rows = [{ ...batch, place: { stream: 0, seq: 1 }, isOutrun: false }]
  const forwarding = new Forwarding(
    {
      queue: {
        claim: async () => rows.pop(),
        noteReadable: async () => undefined,
        settle: async () => undefined,
        release: async () => void released.push('rows'),
        replay: async () => undefined,
        oldestAtMs: async () => undefined,
        waitForRows: untilAborted,
      },
      jobs: {
        due: async () => {
          if (passes.length > 0) return []
          return [{ userId: 1, sensorId: 1, passes: 0, range: { startMs: 0, stopMs: 1 } }]
        },
        notePass: async (_, dueAtMs) => void passes.push(dueAtMs),
      },
      leases: { take: async () => true, release: async (name) => void released.push(name) },
      writer: {
        write: async () => [],
        sync: async () => undefined,
        deleteSensor: async () => undefined,
        life: async () => undefined,
        close: async () => undefined,
        ...store,
      },
      noteState: () => undefined,
      pause: async (durationMs, signal) => {
        pausesMs.push(durationMs)
        if (durationMs !== 2_000) await untilAborted(signal)
      },
      clock,
      log: new RecordingLog(),
    },
    { batchMeasurementsMax: 1, isStoreApart },
  )
  return { forwarding, clock, pausesMs, passes, released }
}

describe('Forwarding', () => {
  it('closes a store that does not respond, and then ends what it was doing there', async () => {
    const closed = Promise.withResolvers<void>()
    const silent = async () => {
      await closed.promise
      throw new StoreUnavailable('closed')
    }
    let writes = 0
    const { forwarding, pausesMs, released } = forwardingInto(
      {
        write: () => {
          writes++
          return silent()
        },
        deleteSensor: silent,
        close: async () => closed.resolve(),
      },
      true,
    )
    forwarding.start()
    await until('it writes', () => writes > 0)
    await forwarding.close()
    expect(pausesMs).to.include(2_000)
    await forwarding.stop()
    expect(writes).to.equal(1)
    expect(released).to.have.members(['rows', 'sensor deletions'])
  })

  for (const [isStoreApart, where] of [
    [true, 'again ten minutes later, where the store is apart and can bring it back'],
    [false, 'once, where the store is inside'],
  ] as const) {
    it(`deletes a sensor ${where}`, async () => {
      const { forwarding, clock, passes } = forwardingInto({}, isStoreApart)
      forwarding.start()
      await until('it is deleted', () => passes.length > 0)
      await forwarding.close()
      const againAtMs = isStoreApart ? clock.nowMs() + 10 * MINUTE_MS : undefined
      expect(passes).to.deep.equal([againAtMs])
    })
  }
})
