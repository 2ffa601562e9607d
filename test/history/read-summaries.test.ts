// Goal: a summary of any window is that of its measurements, whichever windows it is read from.
// Method: random measurements, and plain recomputation.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { readSummaries } from '../../src/history/read-summaries.ts'
import { SqliteMeasurementReader } from '../../src/sqlite/measurements/measurement-reader.ts'
import { SqliteMeasurementWriter } from '../../src/sqlite/measurements/measurement-writer.ts'
import { batchOf, collect } from '../support/measurements.ts'

const SECOND_MS = 1_000
const START_MS = Date.UTC(2026, 2, 1)
/** Three days: every kind of window is read. */
const SECONDS = 3 * 86_400
const WINDOWS_S = [30, 60, 90, 600, 1_800, 3_600, 21_600, 86_400]

describe('summaries', () => {
  let directory: string
  let writer: SqliteMeasurementWriter
  let reader: SqliteMeasurementReader
  let lastSensorId = 0

  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'thermolog-'))
    const file = join(directory, 'measurements.db')
    writer = new SqliteMeasurementWriter(file)
    reader = new SqliteMeasurementReader(file)
  })
  after(async () => {
    await reader.close()
    await writer.close()
    rmSync(directory, { recursive: true })
  })

  const seconds = fc.uniqueArray(fc.integer({ min: 0, max: SECONDS }), { maxLength: 40 })

  async function sensorWith(atSeconds: readonly number[]): Promise<number> {
    const sensorId = ++lastSensorId
    const measurements = atSeconds.map((at, index) => ({
      sensorId,
      measuredAtMs: START_MS + at * SECOND_MS,
      tempCelsius: index,
    }))
    if (measurements.length > 0) await writer.write(batchOf(measurements))
    return sensorId
  }

  it('of windows of any length are those of their measurements', async () => {
    await fc.assert(
      fc.asyncProperty(seconds, fc.constantFrom(...WINDOWS_S), async (atSeconds, windowS) => {
        const sensorId = await sensorWith(atSeconds)
        const windowMs = windowS * SECOND_MS
        const startMs = Math.floor(START_MS / windowMs) * windowMs
        const stopMs = startMs + Math.ceil((SECONDS * SECOND_MS) / windowMs + 2) * windowMs
        const range = { sensorIds: [sensorId], startMs, stopMs }
        const windows = await collect(readSummaries(reader, range, { windowMs, timeZone: 'UTC' }))
        const counts = new Map<number, number>()
        for (const at of atSeconds) {
          const window = Math.floor((START_MS + at * SECOND_MS) / windowMs) * windowMs
          counts.set(window, (counts.get(window) ?? 0) + 1)
        }
        const expected = [...counts].toSorted(([one], [other]) => one - other)
        expect(windows.map(({ startMs: at, count }) => [at, count])).to.deep.equal(expected)
      }),
      { numRuns: 60 },
    )
  })
})
