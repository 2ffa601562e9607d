import { expect } from 'chai'
import { Client } from 'pg'
import { StoreUnavailable } from '../../src/domain/errors.ts'
import { Database } from '../../src/postgres/server/database.ts'
import { PostgresMeasurementReader } from '../../src/postgres/measurements/measurement-reader.ts'
import { PostgresMeasurementWriter } from '../../src/postgres/measurements/measurement-writer.ts'
import type { MeasurementWriter, StoreBatch } from '../../src/ports/measurement-store.ts'
import { describeMeasurementStore } from '../contract/measurement-store.ts'
import type { OpenStore } from '../contract/measurement-store.ts'
import { batchOf, collect } from '../support/measurements.ts'
import { newMigratedDatabase, usePostgres } from '../support/postgres.ts'
import { until } from '../support/until.ts'

const DAY_MS = 86_400_000
const START_MS = Date.UTC(2026, 0, 1)

const LOCKED = 'canceling statement due to lock timeout'

interface FreshStore extends OpenStore {
  readonly url: string
  readonly database: Database
}

describe('PostgreSQL', () => {
  const postgres = usePostgres()

  const openFresh = async (): Promise<FreshStore> => {
    const { url, remove } = await newMigratedDatabase(postgres())
    return open(url, remove)
  }
  describeMeasurementStore('PostgreSQL', openFresh, { propertyRuns: 10 })

  describe('the measurement store', () => {
    let store: FreshStore
    beforeEach(async () => {
      store = await openFresh()
    })
    afterEach(() => store.close())

    const series = (count: number, stepMs: number) =>
      Array.from({ length: count }, (_, at) => {
        return { sensorId: 1, measuredAtMs: START_MS + at * stepMs, tempCelsius: at % 50 }
      })
    const countOf = async (sensorId: number) => {
      const range = { sensorIds: [sensorId], startMs: 0, stopMs: START_MS * 2 }
      return (await collect(store.reader.readRaw(range))).length
    }

    /** As a forwarder does: where another makes the same weeks, one may wait for too long. */
    const writeAgain = (writer: MeasurementWriter, batch: StoreBatch) =>
      until('the store has taken all of it', async () => {
        try {
          await writer.write(batch)
          return true
        } catch (error) {
          if (error instanceof StoreUnavailable) return false
          throw error
        }
      })

    const holding = async (mode: string, work: () => Promise<void>) => {
      const other = new Client({ connectionString: store.url })
      await other.connect()
      try {
        await other.query(`BEGIN; LOCK TABLE measurements IN ${mode} MODE`)
        await work()
      } finally {
        await other.end()
      }
    }

    it('takes many weeks from two processes at once, and reads them in parts', async () => {
      const batch = batchOf(series(12_000, DAY_MS / 100))
      const other = new PostgresMeasurementWriter(store.database)
      await Promise.all([store.writer, other].map((writer) => writeAgain(writer, batch)))
      expect(await countOf(1)).to.equal(12_000)
      const range = { sensorIds: [1], startMs: START_MS, stopMs: START_MS + 120 * DAY_MS }
      const days = await collect(store.reader.readWindows(range, DAY_MS))
      expect(days.map(({ count }) => count)).to.deep.equal(Array.from({ length: 120 }, () => 100))
    })

    it('begins a week while somebody reads the table, and others read on', async () => {
      await holding('ACCESS SHARE', async () => {
        await store.writer.write(batchOf(series(1, 1)))
        expect(await countOf(1)).to.equal(1)
      })
    })

    it('takes over the week of a process that made it and was killed', async () => {
      const week = START_MS / (7 * DAY_MS)
      await store.database.execute(
        `CREATE TABLE measurements_week_${week} (LIKE measurements INCLUDING ALL)`,
      )
      const other = new PostgresMeasurementWriter(store.database)
      const batch = batchOf(series(7, DAY_MS))
      await Promise.all([store.writer, other].map((writer) => writeAgain(writer, batch)))
      expect(await countOf(1)).to.equal(7)
    })

    it('makes a week again that another server lacks', async () => {
      const batch = batchOf(series(1, 1))
      await store.writer.write(batch)
      await store.database.execute(`DROP TABLE measurements_week_${START_MS / (7 * DAY_MS)}`)
      expect(await store.writer.write(batch).catch(String)).to.be.a('string')
      await store.writer.write(batch)
      expect(await countOf(1)).to.equal(1)
    })

    it('makes the next week on the last day of one', async () => {
      await store.writer.write(batchOf(series(7, DAY_MS)))
      await holding('SHARE UPDATE EXCLUSIVE', async () => {
        await store.writer.write(batchOf(series(14, DAY_MS)))
        expect(await countOf(1)).to.equal(14)
      })
    })

    it('goes on with known weeks while a new one cannot be made', async () => {
      await store.writer.write(batchOf(series(1, 1)))
      await holding('SHARE UPDATE EXCLUSIVE', async () => {
        await store.writer.write(batchOf(series(7, DAY_MS)))
        const writing = store.writer.write(batchOf(series(8, DAY_MS)))
        const failure = await writing.catch((error: unknown) => error)
        expect(failure).to.be.instanceOf(StoreUnavailable).with.property('message', LOCKED)
      })
      await store.writer.write(batchOf(series(8, DAY_MS)))
      expect(await countOf(1)).to.equal(8)
    })

    it('is asked one statement about any number of sensors', async () => {
      let asked = 0
      const counting = {
        rows: (text: string, values: readonly unknown[]) => {
          if (!/min\(h\.at_ms\)/.test(text)) asked++
          return store.database.rows(text, values)
        },
      } as Partial<Database> as Database
      const reader = new PostgresMeasurementReader(counting)
      const sensorIds = Array.from({ length: 10_000 }, (_, at) => at + 1)
      await store.writer.write(
        batchOf(sensorIds.map((sensorId) => ({ ...series(1, 1)[0]!, sensorId }))),
      )
      const range = { sensorIds, startMs: START_MS, stopMs: START_MS + DAY_MS }
      const reads = [
        reader.readTotals(range),
        reader.readOne(range, 'last'),
        reader.readRaw(range),
        reader.readWindows(range, DAY_MS),
        reader.readWindows({ ...range, stopMs: START_MS + DAY_MS / 288 }, DAY_MS / 1_440),
      ]
      for (const read of reads)
        expect(await collect<{ readonly sensorId: number }>(read)).to.have.lengthOf(
          sensorIds.length,
        )
      expect(asked).to.equal(reads.length)
    })

    it('keeps apart what came before 1970', async () => {
      await store.writer.write(batchOf([{ sensorId: 1, measuredAtMs: -1, tempCelsius: 3 }]))
      for (const windowMs of [DAY_MS / 24 / 60, DAY_MS]) {
        const range = { sensorIds: [1], startMs: -DAY_MS, stopMs: DAY_MS }
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

    it('deletes nothing of a sensor that lives, as in restored data', async () => {
      await store.writer.write(batchOf(series(3, 1)))
      await store.database.change('INSERT INTO sensor_state (sensor_id, user_id) VALUES (1, 1)')
      const range = { startMs: START_MS, stopMs: START_MS + DAY_MS }
      await store.writer.deleteSensor({ userId: 1, sensorId: 1 }, range)
      expect(await countOf(1)).to.equal(3)
      expect(
        await collect(store.reader.readWindows({ sensorIds: [1], ...range }, DAY_MS)),
      ).to.have.lengthOf(1)
    })

    it('takes nothing from a process that has lost the stream', async () => {
      const stream = 0
      const lose = 'UPDATE stream_forwarded SET fence = 2 WHERE stream_id = $1'
      await store.database.change(lose, [stream])
      const claimed = (fence: number) => {
        return { ...batchOf(series(1, 1)), place: { stream, seq: 1, fence } }
      }
      await store.writer.write(claimed(1))
      expect(await countOf(1)).to.equal(0)
      await store.writer.write(claimed(2))
      expect(await countOf(1)).to.equal(1)
    })

    it('writes in parts what takes longer than a statement may', async () => {
      const slow = new Database(store.url, 1, { statementMsMax: 100 })
      const writer = new PostgresMeasurementWriter(slow)
      await store.database.execute(`
        CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
        $$BEGIN PERFORM pg_sleep(new.temp_celsius / 1000); RETURN new; END$$;
        CREATE TRIGGER slow BEFORE INSERT ON measurements FOR EACH ROW EXECUTE FUNCTION wait()`)
      const waiting = (measuredAtMs: number, waitMs: number) => {
        return { sensorId: 1, measuredAtMs: START_MS + measuredAtMs, tempCelsius: waitMs }
      }
      const batch = batchOf(Array.from({ length: 25 }, (_, at) => waiting(at, 10)))
      await writer.write(batch)
      await writer.write(batch)
      const range = { sensorIds: [1], startMs: START_MS, stopMs: START_MS + DAY_MS }
      const [day] = await collect(store.reader.readWindows(range, DAY_MS))
      expect(day).to.include({ count: 25, sum: 250 })
      const writing = writer.write(batchOf([waiting(50, 1_000)]))
      expect(await writing.catch((error: unknown) => error)).to.be.instanceOf(StoreUnavailable)
      await slow.close()
    })

    it('is written again later when the database is out of reach', async () => {
      const away = new Database('postgresql://127.0.0.1:1/x', 1)
      const writing = new PostgresMeasurementWriter(away).write(batchOf(series(1, 1)))
      expect(await writing.catch((error: unknown) => error)).to.be.instanceOf(StoreUnavailable)
      await away.close()
    })
  })
})

function open(url: string, remove: () => Promise<void>): FreshStore {
  const database = new Database(url, 4)
  return {
    url,
    database,
    writer: new PostgresMeasurementWriter(database),
    reader: new PostgresMeasurementReader(database),
    close: async () => {
      await database.close()
      await remove()
    },
  }
}
