// Goal: the log of the embedded store stays as short as the reserve on the disk assumes, also while
// it catches up without a pause. Method: a large fleet's measurements, written as fast as it takes
// them.

import { statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { logBytesMax, storeWriteMeasurementsMax } from '../../src/domain/limits.ts'
import { SqliteMeasurementWriter } from '../../src/sqlite/measurements/measurement-writer.ts'
import { batchOf } from '../support/measurements.ts'

const SENSORS = 10_000
const WRITES = 18
/** More than one of these writes adds. */
const WRITE_BYTES_MAX = 30_000_000
const MINUTE_MS = 60_000
const START_MS = Date.UTC(2026, 0, 1)

describe('the log of the embedded store', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-log-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  it('is longer than its limit by one write at most', async () => {
    const file = join(folder, 'measurements.db')
    const writer = new SqliteMeasurementWriter(file)
    const syncs: Promise<void>[] = []
    for (let write = 0; write < WRITES; write++) {
      const first = write * storeWriteMeasurementsMax
      const measurements = Array.from({ length: storeWriteMeasurementsMax }, (_, at) => ({
        sensorId: 1 + ((first + at) % SENSORS),
        measuredAtMs: START_MS + Math.floor((first + at) / SENSORS) * MINUTE_MS,
        tempCelsius: at % 50,
      }))
      await writer.write(batchOf(measurements))
      syncs.push(writer.sync())
      const { size } = statSync(`${file}-wal`)
      expect(size).to.be.at.most(logBytesMax.measurements + WRITE_BYTES_MAX)
    }
    await Promise.all(syncs)
    await writer.close()
  })
})
