// Measurements that the store refuses for good: kept until an operator has them tried again or
// drops them. They count as unreadable until then.

import { DAY_MS } from '../../domain/time.ts'
import type { TimeRange } from '../../domain/time.ts'
import type { SetAsideMeasurement } from '../../ports/store-upkeep.ts'
import { bucketOf } from '../bucket.ts'
import type { Database, Sql } from '../database.ts'
import { keepSteps, TO_BEFORE } from '../history-steps.ts'
import { encodeEntries } from '../journal-entries.ts'
import { journalEntries, lockControlStream } from './control-stream.ts'

const COLUMNS = `
  id, user_id AS "userId", sensor_id AS "sensorId", measured_at_ms AS "measuredAtMs",
  tie_break_ns AS "tieBreakNs", temp_celsius AS "tempCelsius", reason,
  set_aside_at_ms AS "setAsideAtMs"`
const LIST = `SELECT ${COLUMNS} FROM set_aside WHERE id > $1 ORDER BY id LIMIT $2`
const COUNT = 'SELECT count(*) AS count FROM set_aside'
const HAS = `
  SELECT 1 FROM set_aside x JOIN sensors s ON s.bucket = x.bucket AND s.id = x.sensor_id
  WHERE s.id = $1::bigint AND x.measured_at_ms >= $2 AND x.measured_at_ms < $3 LIMIT 1`
const TAKE = `
  DELETE FROM set_aside WHERE id IN (
    SELECT id FROM set_aside WHERE $1::bigint[] IS NULL OR id = ANY ($1) ORDER BY id LIMIT $2)
  RETURNING ${COLUMNS}`
const LOCK_SENSORS = `
  SELECT sensor_id AS "sensorId" FROM sensor_state
  WHERE sensor_id = ANY ($1::int[]) ORDER BY sensor_id FOR NO KEY UPDATE`
const TOUCH_SENSORS = `
  UPDATE sensor_state AS s SET stream_id = 0, seq = $2::bigint, version = s.version + 1,
    pending = concat_ws(',', '0:' || ($2::bigint)::text, nullif(
      (SELECT string_agg(p, ',') FROM unnest(string_to_array(s.pending, ',')) p
        WHERE p NOT LIKE '0:%'), '')),
    oldest_at_ms = own.oldest_at_ms, ${TO_BEFORE}
  FROM unnest($1::int[], $3::bigint[]) AS own (sensor_id, oldest_at_ms)
  WHERE s.sensor_id = own.sensor_id`
const UNCOUNT = `
  UPDATE accepted_per_day SET measurements = measurements - $4
  WHERE bucket = $1 AND sensor_id = $2 AND day = $3`

/** Measurements settled in one transaction. */
const SETTLED_AT_ONCE = 5_000

/** In the order in which they were set aside, those after `afterId`. */
export function listSetAside(
  sql: Sql,
  afterId: number,
  limit: number,
): Promise<SetAsideMeasurement[]> {
  return sql.rows<SetAsideMeasurement>(LIST, [afterId, limit])
}

export async function countSetAside(sql: Sql): Promise<number> {
  const [row] = await sql.rows<{ count: number }>(COUNT)
  return row?.count ?? 0
}

export async function hasSetAside(
  sql: Sql,
  sensorId: number,
  { startMs, stopMs }: TimeRange,
): Promise<boolean> {
  return (await sql.rows(HAS, [sensorId, startMs, stopMs])).length > 0
}

/** Puts them back into the journal, as they were. @param ids `undefined`: all */
export function retrySetAside(
  database: Database,
  ids: readonly number[] | undefined,
  nowMs: number,
): Promise<number> {
  return inParts(database, async (sql) => {
    const seq = await lockControlStream(sql)
    const taken = await sql.rows<SetAsideMeasurement>(TAKE, [ids ?? null, SETTLED_AT_ONCE])
    if (taken.length === 0) return 0
    const bySensor = Map.groupBy(taken, ({ sensorId }) => sensorId)
    const sensorIds = [...bySensor.keys()]
    const oldest = [...bySensor.values()].map((own) =>
      own.reduce((least, { measuredAtMs }) => Math.min(least, measuredAtMs), Infinity),
    )
    await sql.rows(LOCK_SENSORS, [sensorIds])
    const buckets = [...bySensor.values()].map(([first]) => bucketOf(first?.userId ?? 0))
    await keepSteps((text, values) => sql.change(text, values), { buckets, ids: sensorIds }, nowMs)
    await sql.change(TOUCH_SENSORS, [sensorIds, seq, oldest])
    const entries = encodeEntries(taken, (at) => taken[at]?.sensorId ?? 0)
    await journalEntries(sql, seq, { count: taken.length, entries })
    return taken.length
  })
}

/** Gives them up for good. @param ids `undefined`: all */
export function dropSetAside(
  database: Database,
  ids: readonly number[] | undefined,
): Promise<number> {
  return inParts(database, async (sql) => {
    const taken = await sql.rows<SetAsideMeasurement>(TAKE, [ids ?? null, SETTLED_AT_ONCE])
    for (const [key, gone] of Map.groupBy(taken, daysOf)) {
      await sql.change(UNCOUNT, [...key.split(' ').map(Number), gone.length])
    }
    return taken.length
  })
}

function daysOf({ userId, sensorId, measuredAtMs }: SetAsideMeasurement): string {
  return `${bucketOf(userId)} ${sensorId} ${Math.floor(measuredAtMs / DAY_MS)}`
}

async function inParts(database: Database, settle: (sql: Sql) => Promise<number>): Promise<number> {
  let settled = 0
  for (;;) {
    const part = await database.transaction(settle)
    settled += part
    if (part < SETTLED_AT_ONCE) return settled
  }
}
