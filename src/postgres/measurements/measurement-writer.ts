// MeasurementWriter on PostgreSQL: one statement writes a batch and adds what is new in it to the
// summaries. A batch that takes longer than a statement may is written in parts.

import { ServiceError, StoreUnavailable } from '../../domain/errors.ts'
import { DAY_MS, HOUR_MS } from '../../domain/time.ts'
import type { TimeRange } from '../../domain/time.ts'
import type { JournalPlace } from '../../ports/journal-queue.ts'
import type { MeasurementWriter, ToSetAside, StoreBatch } from '../../ports/measurement-store.ts'
import type { Database, Sql } from '../server/database.ts'
import { codeOf, QUERY_CANCELED } from '../server/failures.ts'
import { float8Array, int4Array, int8Array } from '../stream/binary-arrays.ts'
import { Partitions } from './partitions.ts'

// Not an integer division, which rounds towards zero: wrong before 1970.
const windowOf = (windowMs: number) => `floor(at_ms / ${windowMs}.0)::bigint * ${windowMs}`
const addTo = (table: string, windowMs: number) => `
  INSERT INTO ${table} AS s (sensor_id, at_ms, count, sum, min, max)
  SELECT sensor_id, ${windowOf(windowMs)}, count(*)::int, sum(temp_celsius),
    min(temp_celsius), max(temp_celsius)
  FROM written GROUP BY 1, 2 ORDER BY 1, 2
  ON CONFLICT (sensor_id, at_ms) DO UPDATE SET
    count = s.count + excluded.count, sum = s.sum + excluded.sum,
    min = least(s.min, excluded.min), max = greatest(s.max, excluded.max)`
const WRITE = `
  WITH written AS (
    INSERT INTO measurements (sensor_id, at_ms, tie_break_ns, temp_celsius)
    SELECT * FROM unnest($1::int[], $2::bigint[], $3::int[], $4::float8[]) AS u (s, a, t, c)
    ORDER BY s, a, t
    ON CONFLICT (sensor_id, at_ms, tie_break_ns) DO NOTHING
    RETURNING sensor_id, at_ms, temp_celsius),
  hours AS (${addTo('measurements_hour', HOUR_MS)}),
  days AS (${addTo('measurements_day', DAY_MS)})
  SELECT count(*) FROM written`

/** Held until the write is committed: the next process to lease the stream waits for it. */
const HOLD_STREAM = `
  SELECT 1 FROM stream_forwarded
  WHERE stream_id = $1 AND fence = $2 FOR SHARE`

const OF_SENSOR = 'sensor_id = $1 AND at_ms >= $2 AND at_ms < $3'
/** In restored data, one that had been deleted may live. */
const IS_GONE = 'NOT EXISTS (SELECT 1 FROM sensor_state WHERE sensor_id = $1)'
/** Rows of one sensor deleted at once. */
const DELETED_AT_ONCE = 50_000
// By time, not by ctid, which is unique only within a partition.
const DELETE_SOME = `
  DELETE FROM measurements WHERE ${OF_SENSOR} AND ${IS_GONE}
    AND at_ms <= coalesce((
      SELECT at_ms FROM measurements WHERE ${OF_SENSOR}
      ORDER BY at_ms OFFSET ${DELETED_AT_ONCE} LIMIT 1), $3)`
const deleteFrom = (table: string) => `DELETE FROM ${table} WHERE ${OF_SENSOR} AND ${IS_GONE}`
const DELETE_SUMMARIES = [deleteFrom('measurements_hour'), deleteFrom('measurements_day')]

export class PostgresMeasurementWriter implements MeasurementWriter {
  readonly #database: Database
  readonly #partitions: Partitions

  constructor(database: Database) {
    this.#database = database
    this.#partitions = new Partitions(database)
  }

  async write(batch: StoreBatch): Promise<readonly ToSetAside[]> {
    const { measurements } = batch
    if (measurements.count === 0) return []
    try {
      await this.#orUnavailable(async () => {
        await this.#partitions.prepare(measurements.measuredAtMs.subarray(0, measurements.count))
        await this.#writeInParts(batch)
      })
    } catch (error) {
      this.#partitions.forget()
      throw error
    }
    return []
  }

  /** Nothing to do: `write` has committed when it resolves. */
  async sync(): Promise<void> {
    await Promise.resolve()
  }

  /** @param range of whole days */
  async deleteSensor(
    { sensorId }: { readonly sensorId: number },
    { startMs, stopMs }: TimeRange,
  ): Promise<void> {
    const range = [sensorId, startMs, stopMs]
    await this.#orUnavailable(async () => {
      while ((await this.#database.change(DELETE_SOME, range)) >= DELETED_AT_ONCE);
      for (const statement of DELETE_SUMMARIES) await this.#database.change(statement, range)
    })
  }

  /** Its opener closes the database. */
  async close(): Promise<void> {
    await Promise.resolve()
  }

  /** If a part takes too long, parts are halved; earlier ones stay written. */
  async #writeInParts(batch: StoreBatch): Promise<void> {
    const { count } = batch.measurements
    let size = count
    for (let from = 0; from < count;) {
      const part = { from, to: Math.min(from + size, count) }
      try {
        await this.#database.transaction(async (sql) => {
          if (await isStillLeased(sql, batch)) await sql.change(WRITE, arraysOf(batch, part))
        })
        from = part.to
      } catch (error) {
        if (size === 1 || !isTooSlow(error)) throw error
        size = Math.ceil(size / 2)
      }
    }
  }

  async #orUnavailable(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      const isOutcomeUnknown = error.code === 'outcome_unknown'
      const reason = error.hint ?? error.message
      throw new StoreUnavailable(reason, { isOutcomeUnknown, cause: error })
    }
  }
}

function isTooSlow(error: unknown): boolean {
  return error instanceof ServiceError && codeOf(error.cause) === QUERY_CANCELED
}

/** Measurements of a batch: from an index up to another one. */
interface Part {
  readonly from: number
  readonly to: number
}

/** If this process has lost the stream, the process that has it now writes the batch. */
async function isStillLeased(sql: Sql, batch: StoreBatch): Promise<boolean> {
  const place = leasedPlaceOf(batch)
  if (place === undefined) return true
  const { stream, fence } = place
  return (await sql.rows(HOLD_STREAM, [stream, fence])).length > 0
}

interface FencedPlace extends JournalPlace {
  readonly fence: number
}

type PlacedBatch = StoreBatch & { readonly place?: JournalPlace }

/** Batches of this adapter's journal carry the lease under which they were claimed. */
function leasedPlaceOf({ place }: PlacedBatch): FencedPlace | undefined {
  return place !== undefined && 'fence' in place ? (place as FencedPlace) : undefined
}

function arraysOf(batch: StoreBatch, { from, to }: Part): unknown[] {
  const { sensorId, measuredAtMs, tieBreakNs, tempCelsius } = batch.measurements
  return [
    int4Array([...sensorId.subarray(from, to)]),
    int8Array([...measuredAtMs.subarray(from, to)]),
    int4Array([...tieBreakNs.subarray(from, to)]),
    float8Array([...tempCelsius.subarray(from, to)]),
  ]
}
