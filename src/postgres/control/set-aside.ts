// Forwards set-aside measurements again, or discards them.

import { SET_ASIDE_COLUMNS } from '../../control/set-aside.ts'
import { encodeEntries } from '../../domain/measurement-columns.ts'
import { DAY_MS } from '../../domain/time.ts'
import type { SetAsideMeasurement } from '../../ports/store-upkeep.ts'
import type { Sql } from '../server/database.ts'
import type { ShardServer, ShardServers } from '../server/shard-servers.ts'
import { revisionStatements, TO_BEFORE } from '../stream/history-revisions.ts'
import { LOCK_SENSORS } from '../stream/lane-statements.ts'
import { journalEntries, lockControlStream } from './control-stream.ts'

const LAST_ID = 'SELECT max(id) AS id FROM set_aside WHERE shard = ANY ($1::smallint[])'
const FIND = `
  SELECT shard, id, sensor_id AS "sensorId" FROM set_aside
  WHERE shard = ANY ($1::smallint[]) AND id > $2 AND id <= $3
    AND ($4::bigint[] IS NULL OR id = ANY ($4)) ORDER BY id LIMIT $5`
const TAKE = `
  DELETE FROM set_aside WHERE shard = $1 AND id = ANY ($2) RETURNING ${SET_ASIDE_COLUMNS}`
const TOUCH_SENSORS = `
  UPDATE sensor_state AS s SET stream_id = $4::int, seq = $5::bigint, version = s.version + 1,
    pending = $4::int || ':' || $5::bigint || coalesce(',' ||
      (SELECT string_agg(p, ',') FROM unnest(string_to_array(s.pending, ',')) p
        WHERE split_part(p, ':', 1)::int <> $4::int), ''),
    oldest_at_ms = own.oldest_at_ms, ${TO_BEFORE}
  FROM unnest($2::int[], $3::bigint[]) AS own (sensor_id, oldest_at_ms)
  WHERE s.shard = $1 AND s.sensor_id = own.sensor_id`
const UNCOUNT = `
  UPDATE accepted_per_day SET measurements = measurements - $4
  WHERE shard = $1 AND sensor_id = $2 AND day = $3`

/** So few in one transaction, because it waits for each group that writes to their sensors. */
const SETTLED_AT_ONCE = 1_000

/** A set-aside measurement. */
interface Found extends Pick<SetAsideMeasurement, 'id' | 'sensorId'> {
  readonly shard: number
}

/** Of one shard. */
interface Part {
  readonly shard: number
  readonly found: readonly Found[]
}

/** Puts measurements back into the journal. @param ids `undefined`: all there are now */
export function retrySetAside(
  servers: ShardServers,
  ids: readonly number[] | undefined,
  nowMs: number,
): Promise<number> {
  return inParts(servers, ids, async (sql, part) => {
    const { shard } = part
    const place = await lockControlStream(sql, shard)
    const taken = await take(sql, part)
    if (taken.length === 0) return 0
    const bySensor = Map.groupBy(taken, ({ sensorId }) => sensorId)
    const sensorIds = [...bySensor.keys()]
    const oldest = [...bySensor.values()].map((own) =>
      own.reduce((least, { measuredAtMs }) => Math.min(least, measuredAtMs), Infinity),
    )
    const revisions = revisionStatements({ shard, ids: sensorIds }, nowMs)
    for (const { text, values } of revisions) await sql.change(text, values)
    await sql.change(TOUCH_SENSORS, [shard, sensorIds, oldest, place.stream, place.seq])
    const entries = encodeEntries(taken, ({ sensorId }) => sensorId)
    await journalEntries(sql, place, { count: taken.length, entries })
    return taken.length
  })
}

/** Discards measurements permanently. @param ids `undefined`: all there are now */
export function dropSetAside(
  servers: ShardServers,
  ids: readonly number[] | undefined,
): Promise<number> {
  return inParts(servers, ids, async (sql, part) => {
    const taken = await take(sql, part)
    for (const [key, gone] of Map.groupBy(taken, dayOf)) {
      await sql.change(UNCOUNT, [part.shard, ...key.split(' ').map(Number), gone.length])
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
async function take(sql: Sql, { shard, found }: Part): Promise<SetAsideMeasurement[]> {
  const sensorIds = [...new Set(found.map(({ sensorId }) => sensorId))]
  const locked = await sql.rows<{ id: number }>(LOCK_SENSORS, [shard, sensorIds])
  const live = new Set(locked.map(({ id }) => id))
  const taken = await sql.rows<SetAsideMeasurement>(TAKE, [shard, found.map(({ id }) => id)])
  return taken.filter(({ sensorId }) => live.has(sensorId))
}

type Settle = (sql: Sql, part: Part) => Promise<number>

async function inParts(
  { all }: ShardServers,
  ids: readonly number[] | undefined,
  settle: Settle,
): Promise<number> {
  let settled = 0
  for (const server of all) settled += await inPartsOf(server, ids, settle)
  return settled
}

/** Excludes what is added meanwhile: retried measurements may be set aside again. */
async function inPartsOf(
  { database, shards }: ShardServer,
  ids: readonly number[] | undefined,
  settle: Settle,
): Promise<number> {
  const [last] = await database.rows<{ id: number | null }>(LAST_ID, [shards])
  let settled = 0
  for (let afterId = 0; ;) {
    const range = [shards, afterId, last?.id ?? 0, ids ?? null]
    const found = await database.rows<Found>(FIND, [...range, SETTLED_AT_ONCE])
    if (found.length === 0) return settled
    for (const [shard, own] of Map.groupBy(found, (one) => one.shard)) {
      settled += await database.transaction((sql) => settle(sql, { shard, found: own }))
    }
    afterId = found.at(-1)?.id ?? 0
  }
}
