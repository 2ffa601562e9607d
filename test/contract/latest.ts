// What every keeper of sensors promises of their latest values.
// Goal: a latest time that only a wrong clock of the service let in does not stay, and `verify` can
// tell that from a wrong one. Method: random measurements, received by a clock that is set back and
// forth, against the rule of the domain and all that was accepted.

import { expect } from 'chai'
import fc from 'fast-check'
import { becomesLatest, onlineTimes } from '../../src/domain/sensor.ts'
import { DAY_MS, MINUTE_MS } from '../../src/domain/time.ts'
import { compareLatest } from '../../src/operations/verify/compare-account.ts'
import { accept, commit, measurement, NOW_MS, openForEach, PERMISSIVE } from './open-data.ts'
import type { NewData, OpenData } from './open-data.ts'

const { futureMsMax } = PERMISSIVE
const AHEAD_MS = NOW_MS + 400 * DAY_MS
const NOTHING_STORED = { atLatest: undefined, later: undefined }

const reading = fc.record({
  clockMs: fc.constantFrom(NOW_MS, NOW_MS, NOW_MS + 1_000, NOW_MS + 30 * DAY_MS, AHEAD_MS),
  ageMs: fc.constantFrom(0, 0, 1_000, -futureMsMax, 20 * MINUTE_MS, 2 * DAY_MS),
})

/** Declares the suite for one engine. */
export function describeLatest(engine: string, newData: NewData): void {
  describe(`${engine}, of a latest value`, () => {
    let data: OpenData
    let userId: number
    openForEach(newData, (opened, id) => {
      data = opened
      userId = id
    })
    const submissionAt = (receivedAtMs: number, ageMs: number, tempCelsius = 20) => {
      const measuredAtMs = receivedAtMs - ageMs
      return { userId, receivedAtMs, measurements: [measurement({ measuredAtMs, tempCelsius })] }
    }
    const only = async () => {
      const [sensor] = await data.control.listSensors(userId)
      if (sensor === undefined) throw new Error('there is no sensor')
      return sensor
    }
    /** As `verify` finds it while nothing is forwarded. */
    const verified = async (sensorId: number) => {
      const before = (await data.accounts.read([sensorId])).get(sensorId)
      if (before === undefined) throw new Error(`there is no account of sensor ${sensorId}`)
      return compareLatest({ before, after: before }, NOTHING_STORED, false)
    }

    it('lets one that is too far ahead give way to the next, whatever its time', async () => {
      await accept(data, submissionAt(AHEAD_MS, 0))
      await accept(data, submissionAt(NOW_MS, 0, 1))
      await accept(data, submissionAt(NOW_MS + 1, DAY_MS, 2))
      expect((await only()).latest).to.deep.equal({ measuredAtMs: NOW_MS, rawCelsius: 1 })
    })

    it('decides so within a group', async () => {
      await commit(data, submissionAt(AHEAD_MS, 0), submissionAt(NOW_MS, DAY_MS, 1))
      const sensor = await only()
      expect(sensor.latest).to.deep.equal({ measuredAtMs: NOW_MS - DAY_MS, rawCelsius: 1 })
      expect(await verified(sensor.id)).to.equal('right')
    })

    it('tells clients that follow, and has another version', async () => {
      const online = onlineTimes(NOW_MS, { offlineAfterMs: 15 * MINUTE_MS, futureMsMax })
      await accept(data, submissionAt(AHEAD_MS, 0))
      const { cursor } = await data.control.readChanges({ userId, online, since: undefined })
      const version = await data.control.readSensorsVersion(userId, online)
      await accept(data, submissionAt(NOW_MS, DAY_MS))
      const changes = await data.control.readChanges({ userId, online, since: cursor })
      expect(changes.sensors).to.deep.equal([await only()])
      expect(changes.histories[0]?.acceptedFromMs).to.equal(NOW_MS - DAY_MS)
      expect(await data.control.readSensorsVersion(userId, online)).not.to.equal(version)
    })

    it('has another version once one is not ahead any more', async () => {
      await accept(data, submissionAt(NOW_MS, -futureMsMax))
      const versionAt = (untilMs: number) =>
        data.control.readSensorsVersion(userId, { sinceMs: NOW_MS, untilMs })
      const latestMs = NOW_MS + futureMsMax
      expect(await versionAt(latestMs)).not.to.equal(await versionAt(latestMs - 1))
    })

    it('is what the rule says, and is verified, whatever the clock was', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(reading, { minLength: 1, maxLength: 12 }), async (readings) => {
          const before = await data.control.listSensors(userId)
          for (const { id } of before) await data.controlWriter.deleteSensor(userId, id)
          let latest = { measuredAtMs: -Infinity, rawCelsius: 0 }
          for (const [rawCelsius, { clockMs, ageMs }] of readings.entries()) {
            await accept(data, submissionAt(clockMs, ageMs, rawCelsius))
            const measuredAtMs = clockMs - ageMs
            const isNext = becomesLatest(measuredAtMs, latest.measuredAtMs, clockMs + futureMsMax)
            if (isNext) latest = { measuredAtMs, rawCelsius }
            const sensor = await only()
            expect(sensor.latest).to.deep.equal(latest)
            expect(await verified(sensor.id)).to.equal('right')
          }
        }),
        { numRuns: 8, endOnFailure: true },
      )
    })
  })
}
