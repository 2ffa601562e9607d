// What has changed of a user's sensors since a client looked. One statement sees one moment:
// whatever it misses lies beyond that moment's heads, or has a later count of settings.

import { rows } from '../../control/flow.ts'
import type { Flow } from '../../control/flow.ts'
import {
  changesOf,
  changesReads,
  DELETIONS_READ_MAX,
  isRecent,
} from '../../control/sensor-changes.ts'
import type { Change, ChangesSince } from '../../control/sensor-changes.ts'
import { isOnlineAt, sensorColumns, toSensor } from '../../control/sensors.ts'
import type { SensorRow } from '../../control/sensors.ts'
import type { ChangesQuestion } from '../../ports/sensor-changes.ts'
import { changesCursorOf, seenByClient } from '../data-version.ts'
import { HEADS, HISTORY_FROM, isUnseen } from '../stream/history-revisions.ts'
import { SENSOR_READS, SENSOR_TABLES } from './sensor-rows.ts'

interface ChangedRow extends Omit<SensorRow, 'id'>, Change {
  /** `null` in a single row: nothing has changed. */
  readonly id: number | null
  readonly epoch: string
  readonly settings: number
  readonly heads: readonly number[]
  readonly deleted: readonly number[] | null
}

const WAS_ONLINE = isOnlineAt('$5', '$6')
const IS_ONLINE = isOnlineAt('$7', '$8')
const CHANGED = `
  WITH now AS (
    SELECT i.epoch, coalesce(u.settings, 0) AS settings, ${HEADS} AS heads
    FROM data_identity i LEFT JOIN user_state u ON u.user_id = $1)
  SELECT now.*, x.*, CASE WHEN now.epoch = $2 AND now.settings > $3 THEN ARRAY(
      SELECT d.id FROM sensors d
      WHERE d.user_id = $1 AND d.changed_at_settings > $3
        AND d.deleted_at_ms IS NOT NULL
      ORDER BY d.id LIMIT ${DELETIONS_READ_MAX}) END AS deleted
  FROM now LEFT JOIN LATERAL (
    SELECT ${sensorColumns(SENSOR_TABLES)}, ${HISTORY_FROM} AS "fromMs",
      s.compensated_at_settings > $3 AS "isCompensated",
      ${WAS_ONLINE} AND NOT ${IS_ONLINE} AS "isSilent"
    FROM ${SENSOR_TABLES.from}
    WHERE s.deleted_at_ms IS NULL AND s.user_id = $1 AND now.epoch = $2
      AND (s.changed_at_settings > $3 OR ${isUnseen('t.stream_id', 't.seq')}
        OR ${WAS_ONLINE} <> ${IS_ONLINE})) x ON true
  ORDER BY x.id LIMIT $9`

function* changesSince(
  { userId, online, since }: ChangesQuestion,
  sensorsMax: number,
): Flow<ChangesSince> {
  const seen = seenByClient(since ?? '')
  const { epoch, settings, heads } = seen
  const then = [epoch, settings, heads] as const
  const times = [seen.online, online].flatMap(({ sinceMs, untilMs }) => [sinceMs, untilMs])
  const values = [userId, ...then, ...times, sensorsMax]
  const found = yield* rows<ChangedRow>(CHANGED, ...values)
  const [now] = found
  if (now === undefined) throw new Error('BUG: the database has no identity')
  const cursor = changesCursorOf({ ...now, online })
  const isContinued = epoch === now.epoch && settings <= now.settings
  if (!isContinued || !isRecent(seen.online, online)) return { cursor, changes: undefined }
  const changed = found.flatMap(({ id, ...one }) =>
    id === null ? [] : [[toSensor({ ...one, id }), one] as const],
  )
  return { cursor, changes: changesOf(cursor, changed, now.deleted ?? []) }
}

export const CHANGES_READS = changesReads(changesSince, SENSOR_READS.listSensors)
