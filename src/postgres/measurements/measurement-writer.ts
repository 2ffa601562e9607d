// MeasurementWriter on PostgreSQL: one statement writes a batch and adds what is new in it to the
// summaries. A batch that takes longer than a statement may is written in parts. All that is
// written is in one shard, `$1`, so that a transaction is of one machine.

import { assert, ServiceError, StoreUnavailable } from '../../domain/errors.ts'
import { shardOf, shardOfStream } from '../../domain/shard.ts'
import type { UserShard } from '../../domain/shard.ts'
import { DAY_MS, HOUR_MS } from '../../domain/time.ts'
import type { TimeRange } from '../../domain/time.ts'
import type { JournalPlace } from '../../ports/journal-queue.ts'
import type { MeasurementWriter, ToSetAside, StoreBatch } from '../../ports/measurement-store.ts'
import type { Database, Sql } from '../server/database.ts'
import { codeOf, QUERY_CANCELED } from '../server/failures.ts'
import { OF_SHARD } from '../server/spread.ts'
import { float8Array, int4Array, int8Array } from '../stream/binary-arrays.ts'
import { Partitions } from './partitions.ts'

// Not an integer division, which rounds towards zero: wrong before 1970.
const windowOf = (windowMs: number) => `floor(at_ms / ${windowMs}.0)::bigint * ${windowMs}`
const addTo = (table: string, windowMs: number, written: string) => `
  INSERT INTO ${table} AS s (shard, sensor_id, at_ms, count, sum, min, max)
  SELECT shard, sensor_id, ${windowOf(windowMs)}, count(*)::int, sum(temp_celsius),
    min(temp_celsius), max(temp_celsius)
  FROM ${written} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
  ON CONFLICT (shard, sensor_id, at_ms) DO UPDATE SET
    count = s.count + excluded.count, sum = s.sum + excluded.sum,
    min = least(s.min, excluded.min), max = greatest(s.max, excluded.max)`
const INSERT = `
  INSERT INTO measurements (shard, sensor_id, at_ms, tie_break_ns, temp_celsius)
  SELECT own.shard, u.* FROM ${OF_SHARD}
    unnest($2::int[], $3::bigint[], $4::int[], $5::float8[]) AS u (s, a, t, c)
  WHERE own.shard = $1
  ORDER BY s, a, t
  ON CONFLICT (shard, sensor_id, at_ms, tie_break_ns) DO NOTHING`
const WRITE = `
  WITH written AS (${INSERT} RETURNING shard, sensor_id, at_ms, temp_celsius),
  hours AS (${addTo('measurements_hour', HOUR_MS, 'written')}),
  days AS (${addTo('measurements_day', DAY_MS, 'written')})
  SELECT count(*) FROM written`

// The same for tables that are spread over machines: of one statement, Citus would run the parts
// one after the other, and move what each has found. `$2` to `$4`: what the first one has written.
const INSERT_NEW = `
  ${INSERT}
  RETURNING sensor_id AS "sensorId", at_ms AS "measuredAtMs", temp_celsius AS "tempCelsius"`
const NEW = `
  ${OF_SHARD} unnest($2::int[], $3::bigint[], $4::float8[]) AS u (sensor_id, at_ms, temp_celsius)
  WHERE own.shard = $1`
const ADD_NEW = [addTo('measurements_hour', HOUR_MS, NEW), addTo('measurements_day', DAY_MS, NEW)]

/** Held until the write is committed: the next process to lease the stream waits for it. */
const HOLD_STREAM = `
  SELECT 1 FROM stream_forwarded
  WHERE shard = $1 AND stream_id = $2 AND fence = $3 FOR SHARE`

const OF_SENSOR = 'shard = $1 AND sensor_id = $2 AND at_ms >= $3 AND at_ms < $4'
/** Rows of one sensor deleted at once. */
const DELETED_AT_ONCE = 50_000
// By time, not by ctid, which is unique only within a partition.
const DELETE_SOME = `
  DELETE FROM measurements WHERE ${OF_SENSOR}
    AND at_ms <= coalesce((
      SELECT at_ms FROM measurements WHERE ${OF_SENSOR}
      ORDER BY at_ms OFFSET ${DELETED_AT_ONCE} LIMIT 1), $4)`
const deleteFrom = (table: string) => `DELETE FROM ${table} WHERE ${OF_SENSOR}`
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
    { userId, sensorId }: { readonly userId: number; readonly sensorId: number },
    { startMs, stopMs }: TimeRange,
  ): Promise<void> {
    const range = [shardOf(userId), sensorId, startMs, stopMs]
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
    const write = (await this.#database.readShards()).areSeveral ? writeNew : writeAtOnce
    let size = count
    for (let from = 0; from < count;) {
      const part = { from, to: Math.min(from + size, count) }
      try {
        await this.#database.transaction(async (sql) => {
          if (await isStillLeased(sql, batch)) await write(sql, arraysOf(batch, part))
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
  return (await sql.rows(HOLD_STREAM, [shardOfStream(stream), stream, fence])).length > 0
}

async function writeAtOnce(sql: Sql, values: readonly unknown[]): Promise<void> {
  await sql.change(WRITE, values)
}

async function writeNew(sql: Sql, values: readonly unknown[]): Promise<void> {
  type Row = Readonly<Record<'sensorId' | 'measuredAtMs' | 'tempCelsius', number>>
  const rows = await sql.rows<Row>(INSERT_NEW, values)
  if (rows.length === 0) return
  const written = [
    values[0],
    int4Array(rows.map(({ sensorId }) => sensorId)),
    int8Array(rows.map(({ measuredAtMs }) => measuredAtMs)),
    float8Array(rows.map(({ tempCelsius }) => tempCelsius)),
  ]
  for (const statement of ADD_NEW) await sql.change(statement, written)
}

interface FencedPlace extends JournalPlace {
  readonly fence: number
}

type PlacedBatch = StoreBatch & { readonly place?: JournalPlace }

/** All of a journal stream is in its shard; a batch from elsewhere is of one user. */
function shardOfBatch({ place, measurements }: PlacedBatch): number | UserShard {
  if (place !== undefined) return shardOfStream(place.stream)
  const [userId = 0] = measurements.userId
  assert(
    measurements.userId.every((id) => id === userId),
    'a batch without a place is of several users',
  )
  return shardOf(userId)
}

/** Batches of this adapter's journal carry the lease under which they were claimed. */
function leasedPlaceOf({ place }: PlacedBatch): FencedPlace | undefined {
  return place !== undefined && 'fence' in place ? (place as FencedPlace) : undefined
}

function arraysOf(batch: StoreBatch, { from, to }: Part): unknown[] {
  const { sensorId, measuredAtMs, tieBreakNs, tempCelsius } = batch.measurements
  return [
    shardOfBatch(batch),
    int4Array([...sensorId.subarray(from, to)]),
    int8Array([...measuredAtMs.subarray(from, to)]),
    int4Array([...tieBreakNs.subarray(from, to)]),
    float8Array([...tempCelsius.subarray(from, to)]),
  ]
}
