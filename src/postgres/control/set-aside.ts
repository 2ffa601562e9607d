// Forwards set-aside measurements again, or discards them.

import { SET_ASIDE_COLUMNS } from '../../control/set-aside.ts'
import { encodeEntries } from '../../domain/measurement-columns.ts'
import { DAY_MS } from '../../domain/time.ts'
import type { SetAsideMeasurement } from '../../ports/store-upkeep.ts'
import type { Database, Sql } from '../server/database.ts'
import { revisionStatements, TO_BEFORE } from '../stream/history-revisions.ts'
import { LOCK_SENSORS } from '../stream/lane-statements.ts'
import { journalEntries, lockControlStream } from './control-stream.ts'

const LAST_ID = 'SELECT max(id) AS id FROM set_aside'
const FIND = `
  SELECT id, sensor_id AS "sensorId" FROM set_aside
  WHERE id > $1 AND id <= $2
    AND ($3::bigint[] IS NULL OR id = ANY ($3)) ORDER BY id LIMIT $4`
const TAKE = `
  DELETE FROM set_aside WHERE id = ANY ($1) RETURNING ${SET_ASIDE_COLUMNS}`
const TOUCH_SENSORS = `
  UPDATE sensor_state AS s SET stream_id = $3::int, seq = $4::bigint, version = s.version + 1,
    pending = $3::int || ':' || $4::bigint || coalesce(',' ||
      (SELECT string_agg(p, ',') FROM unnest(string_to_array(s.pending, ',')) p
        WHERE split_part(p, ':', 1)::int <> $3::int), ''),
    oldest_at_ms = own.oldest_at_ms, ${TO_BEFORE}
  FROM unnest($1::int[], $2::bigint[]) AS own (sensor_id, oldest_at_ms)
  WHERE s.sensor_id = own.sensor_id`
const UNCOUNT = `
  UPDATE accepted_per_day SET measurements = measurements - $3
  WHERE sensor_id = $1 AND day = $2`

/** So few in one transaction, because it waits for each group that writes to their sensors. */
const SETTLED_AT_ONCE = 1_000

type Found = Pick<SetAsideMeasurement, 'id' | 'sensorId'>

/** Puts measurements back into the journal. @param ids `undefined`: all there are now */
export function retrySetAside(
  database: Database,
  ids: readonly number[] | undefined,
  nowMs: number,
): Promise<number> {
  return inParts(database, ids, async (sql, found) => {
    const place = await lockControlStream(sql)
    const taken = await take(sql, found)
    if (taken.length === 0) return 0
    const bySensor = Map.groupBy(taken, ({ sensorId }) => sensorId)
    const sensorIds = [...bySensor.keys()]
    const oldest = [...bySensor.values()].map((own) =>
      own.reduce((least, { measuredAtMs }) => Math.min(least, measuredAtMs), Infinity),
    )
    const revisions = revisionStatements(sensorIds, nowMs)
    for (const { text, values } of revisions) await sql.change(text, values)
    await sql.change(TOUCH_SENSORS, [sensorIds, oldest, place.stream, place.seq])
    const entries = encodeEntries(taken, ({ sensorId }) => sensorId)
    await journalEntries(sql, place, { count: taken.length, entries })
    return taken.length
  })
}

/** Discards measurements permanently. @param ids `undefined`: all there are now */
export function dropSetAside(
  database: Database,
  ids: readonly number[] | undefined,
): Promise<number> {
  return inParts(database, ids, async (sql, found) => {
    const taken = await take(sql, found)
    for (const [key, gone] of Map.groupBy(taken, dayOf)) {
      await sql.change(UNCOUNT, [...key.split(' ').map(Number), gone.length])
    }
    return taken.length
  })
}

function dayOf({ sensorId, measuredAtMs }: SetAsideMeasurement): string {
  return `${sensorId} ${Math.floor(measuredAtMs / DAY_MS)}`
}

/**
 * Takes the measurements that still exist, of sensors that are not deleted. Locks are taken in the
 * same order as by groups and deletions.
 */
async function take(sql: Sql, found: readonly Found[]): Promise<SetAsideMeasurement[]> {
  const sensorIds = [...new Set(found.map(({ sensorId }) => sensorId))]
  const locked = await sql.rows<{ id: number }>(LOCK_SENSORS, [sensorIds])
  const live = new Set(locked.map(({ id }) => id))
  const taken = await sql.rows<SetAsideMeasurement>(TAKE, [found.map(({ id }) => id)])
  return taken.filter(({ sensorId }) => live.has(sensorId))
}

type Settle = (sql: Sql, found: readonly Found[]) => Promise<number>

/** Excludes what is added meanwhile: retried measurements may be set aside again. */
async function inParts(
  database: Database,
  ids: readonly number[] | undefined,
  settle: Settle,
): Promise<number> {
  const [last] = await database.rows<{ id: number | null }>(LAST_ID)
  let settled = 0
  for (let afterId = 0; ;) {
    const range = [afterId, last?.id ?? 0, ids ?? null]
    const found = await database.rows<Found>(FIND, [...range, SETTLED_AT_ONCE])
    if (found.length === 0) return settled
    settled += await database.transaction((sql) => settle(sql, found))
    afterId = found.at(-1)?.id ?? 0
  }
}
