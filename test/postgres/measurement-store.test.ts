import { expect } from 'chai'
import { StoreUnavailable } from '../../src/domain/errors.ts'
import { Database } from '../../src/postgres/database.ts'
import { PostgresMeasurementReader } from '../../src/postgres/measurements/measurement-reader.ts'
import { PostgresMeasurementWriter } from '../../src/postgres/measurements/measurement-writer.ts'
import { describeMeasurementStore } from '../contract/measurement-store.ts'
import type { OpenStore } from '../contract/measurement-store.ts'
import { batchOf, collect } from '../support/measurements.ts'
import { newMigratedDatabase, usePostgres } from '../support/postgres.ts'

const DAY_MS = 86_400_000
const START_MS = Date.UTC(2026, 0, 1)

describe('PostgreSQL', () => {
  const postgres = usePostgres()

  const openFresh = async (): Promise<OpenStore & { readonly database: Database }> => {
    const { url, remove } = await newMigratedDatabase(postgres())
    const database = new Database(url, 4)
    return {
      database,
      writer: new PostgresMeasurementWriter(database),
      reader: new PostgresMeasurementReader(database),
      close: async () => {
        await database.close()
        await remove()
      },
    }
  }

  describeMeasurementStore('PostgreSQL', openFresh, { propertyRuns: 10 })

  describe('the measurement store', () => {
    let store: Awaited<ReturnType<typeof openFresh>>
    beforeEach(async () => {
      store = await openFresh()
    })
    afterEach(() => store.close())

    const series = (count: number, stepMs: number) =>
      Array.from({ length: count }, (_, at) => {
        return { sensorId: 1, measuredAtMs: START_MS + at * stepMs, tempCelsius: at % 50 }
      })
    const countOf = async (sensorId: number) => {
      const range = { sensorId, startMs: 0, stopMs: START_MS * 2 }
      return (await collect(store.reader.readRaw(range))).length
    }

    it('takes many weeks from two processes at once, and reads them in parts', async () => {
      const batch = batchOf(series(12_000, DAY_MS / 100))
      const other = new PostgresMeasurementWriter(store.database)
      await Promise.all([store.writer.write(batch), other.write(batch)])
      expect(await countOf(1)).to.equal(12_000)
      const range = { sensorId: 1, startMs: START_MS, stopMs: START_MS + 120 * DAY_MS }
      const days = await collect(store.reader.readWindows(range, DAY_MS))
      expect(days.map(({ count }) => count)).to.deep.equal(Array.from({ length: 120 }, () => 100))
    })

    it('keeps apart what came before 1970', async () => {
      await store.writer.write(batchOf([{ sensorId: 1, measuredAtMs: -1, tempCelsius: 3 }]))
      for (const windowMs of [DAY_MS / 24 / 60, DAY_MS]) {
        const range = { sensorId: 1, startMs: -DAY_MS, stopMs: DAY_MS }
        const [window] = await collect(store.reader.readWindows(range, windowMs))
        expect(window).to.include({ startMs: -windowMs, count: 1 })
      }
    })

    it('deletes a sensor of more than it deletes at once', async () => {
      await store.writer.write(batchOf(series(60_000, 10_000)))
      await store.writer.deleteSensor(
        { userId: 1, sensorId: 1 },
        { startMs: START_MS, stopMs: START_MS + 10 * DAY_MS },
      )
      expect(await countOf(1)).to.equal(0)
    })

    it('takes nothing from a process that has lost the stream', async () => {
      await store.database.change('UPDATE stream_forwarded SET fence = 2 WHERE stream_id = 0')
      const claimed = (fence: number) => {
        return { ...batchOf(series(1, 1)), place: { stream: 0, seq: 1, fence } }
      }
      await store.writer.write(claimed(1))
      expect(await countOf(1)).to.equal(0)
      await store.writer.write(claimed(2))
      expect(await countOf(1)).to.equal(1)
    })

    it('is written again later when the database is out of reach', async () => {
      const away = new Database('postgresql://127.0.0.1:1/x', 1)
      const writing = new PostgresMeasurementWriter(away).write(batchOf(series(1, 1)))
      expect(await writing.catch((error: unknown) => error)).to.be.instanceOf(StoreUnavailable)
      await away.close()
    })
  })
})
