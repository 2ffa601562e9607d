// What has changed of a user's sensors since a client looked. One transaction sees one moment: what
// is not in it has a place beyond that moment's heads, or a later count of settings.

import { changesAgeMsMax, deletionsNamedMax } from '../../domain/limits.ts'
import type { ChangesQuestion, HistoryChange, SensorChanges } from '../../ports/sensor-changes.ts'
import { bucketOf } from '../bucket.ts'
import { changesCursorOf, seenByClient } from '../data-version.ts'
import type { ClientSeen } from '../data-version.ts'
import type { Database, Sql } from '../database.ts'
import { EVERYTHING_MS, HEADS, HISTORY_FROM, isUnseen } from '../history-steps.ts'
import { listSensors, SENSOR_COLUMNS, toSensor } from './sensor-rows.ts'
import type { SensorRow } from './sensor-rows.ts'

interface State {
  readonly epoch: string
  readonly settings: number
  readonly heads: readonly number[]
}

interface ChangedRow extends SensorRow {
  /** `null`: its history is as it was. */
  readonly fromMs: number | null
}

const STATE = `
  SELECT i.epoch, coalesce(u.settings, 0) AS settings,
    ${HEADS} AS heads
  FROM data_identity i LEFT JOIN user_state u ON u.bucket = $1 AND u.user_id = $2`
const isOnline = (sinceMs: string) =>
  `coalesce(least(t.last_seen_at_ms, t.measured_at_ms) >= ${sinceMs}, false)`
const CHANGED = `
  SELECT ${SENSOR_COLUMNS}, $3::text AS epoch,
    CASE WHEN s.compensated_at_settings > $4 THEN ${EVERYTHING_MS}
      ELSE ${HISTORY_FROM} END::bigint AS "fromMs"
  FROM sensors s JOIN sensor_state t ON t.bucket = s.bucket AND t.sensor_id = s.id
  WHERE s.deleted_at_ms IS NULL AND s.bucket = $1 AND s.user_id = $2
    AND (s.changed_at_settings > $4 OR ${isUnseen('t.stream_id', 't.seq')}
      OR ${isOnline('$6')} <> ${isOnline('$7')})
  ORDER BY s.id`
const DELETED = `
  SELECT id FROM sensors
  WHERE bucket = $1 AND user_id = $2 AND changed_at_settings > $3 AND deleted_at_ms IS NOT NULL
  ORDER BY id LIMIT ${deletionsNamedMax + 1}`

export function readChanges(
  database: Database,
  { userId, onlineSinceMs, since }: ChangesQuestion,
): Promise<SensorChanges> {
  return database.view(async (sql) => {
    const [state] = await sql.rows<State>(STATE, [bucketOf(userId), userId])
    if (state === undefined) throw new Error('BUG: the database has no identity')
    const now: ClientSeen = { ...state, onlineSinceMs }
    const cursor = changesCursorOf(now)
    const seen = since === undefined ? undefined : seenByClient(since)
    const changes =
      seen !== undefined && isContinued(seen, now) && (await changesSince(sql, userId, seen, now))
    if (changes) return { cursor, isReset: false, ...changes }
    const sensors = await listSensors(sql, userId)
    return { cursor, isReset: true, sensors, deletedIds: [], histories: [] }
  })
}

/** @returns `undefined`: too much to tell */
async function changesSince(sql: Sql, userId: number, seen: ClientSeen, now: ClientSeen) {
  const { epoch, settings, heads } = seen
  const user = [bucketOf(userId), userId]
  const deleted = await sql.rows<{ id: number }>(DELETED, [...user, settings])
  if (deleted.length > deletionsNamedMax) return undefined
  const rows = await sql.rows<ChangedRow>(CHANGED, [
    ...user,
    epoch,
    settings,
    heads,
    seen.onlineSinceMs,
    now.onlineSinceMs,
  ])
  const histories = rows.flatMap(({ id, fromMs }): HistoryChange[] => {
    if (fromMs === null) return []
    return [{ sensorId: id, fromMs: fromMs <= EVERYTHING_MS ? null : fromMs }]
  })
  const sensors = rows.map(({ fromMs: _fromMs, ...row }) => toSensor(row))
  return { sensors, deletedIds: deleted.map(({ id }) => id), histories }
}

/** Whether the cursor is of these data, and not too old. */
function isContinued(seen: ClientSeen, now: ClientSeen): boolean {
  return (
    seen.epoch === now.epoch &&
    seen.settings <= now.settings &&
    seen.onlineSinceMs >= now.onlineSinceMs - changesAgeMsMax
  )
}
