// What is read of sensors: what users see, what has changed of it since a row of the journal (every
// change has one, and rows are the only clock), and how many are still to be deleted.

import { counted, row, rows } from '../../control/flow.ts'
import type { Flow } from '../../control/flow.ts'
import {
  changesOf,
  changesReads,
  DELETIONS_READ_MAX,
  isRecent,
} from '../../control/sensor-changes.ts'
import type { Change, ChangesSince } from '../../control/sensor-changes.ts'
import {
  isOnlineAt,
  ONLINE_COUNTS,
  sensorColumns,
  sensorReads,
  toSensor,
} from '../../control/sensors.ts'
import type { SensorRow, SensorTables } from '../../control/sensors.ts'
import { HOUR_MS } from '../../domain/time.ts'
import type { ChangesQuestion } from '../../ports/sensor-changes.ts'
import { changesCursorOf, seenByClient } from '../data-version.ts'

// Differs after every change, and never comes again: rows of the journal only grow, deleted sensors
// keep theirs, and a restore makes a new identity.
const VERSION = `
  SELECT (SELECT id FROM data_identity) || ' ' ||
    ifnull((SELECT max(changed_seq) FROM sensors WHERE user_id = $1), 0) || ' ' ||
    ifnull(max(t.data_seq), 0) || ' ' || ${ONLINE_COUNTS} AS version
  FROM sensors LEFT JOIN sensor_latest t ON t.sensor_id = id
  WHERE user_id = $1 AND deleted_at_ms IS NULL`

const SENSOR_TABLES: SensorTables = {
  from: 'sensors s LEFT JOIN sensor_latest t ON t.sensor_id = s.id',
  dataVersion: 'CAST(ifnull(t.data_seq, 0) AS text)',
  readVersion: VERSION,
}

export const SENSOR_READS = sensorReads(SENSOR_TABLES)

const STATE = `
  SELECT id AS "dataId", ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'journal'), 0) AS seq
  FROM data_identity`
const REVISIONS = `
  SELECT min(hour) * ${HOUR_MS} FROM history_revisions h WHERE h.sensor_id = s.id AND h.seq > $2`
/** From when on the history of a sensor differs: the schema says how that is kept. */
const HISTORY_FROM = `
  CASE WHEN t.data_seq > $2 THEN min(t.oldest_at_ms,
    iif(t.before_seq > $2, t.before_hour * ${HOUR_MS}, t.oldest_at_ms),
    ifnull((${REVISIONS}), t.oldest_at_ms)) END`
const WAS_ONLINE = isOnlineAt('$3', '$4')
const IS_ONLINE = isOnlineAt('$5', '$6')
const CHANGED = `
  SELECT ${sensorColumns(SENSOR_TABLES)}, ${HISTORY_FROM} AS "fromMs",
    s.compensated_seq > $2 AS "isCompensated", ${WAS_ONLINE} AND NOT ${IS_ONLINE} AS "isSilent"
  FROM ${SENSOR_TABLES.from}
  WHERE s.user_id = $1 AND s.deleted_at_ms IS NULL
    AND (s.changed_seq > $2 OR t.data_seq > $2 OR ${WAS_ONLINE} <> ${IS_ONLINE})
  ORDER BY s.id LIMIT $7`
const DELETED = `
  SELECT id FROM sensors WHERE user_id = $1 AND changed_seq > $2 AND deleted_at_ms IS NOT NULL
  ORDER BY id LIMIT ${DELETIONS_READ_MAX}`

export const countSensorDeletions = () => counted('SELECT count(*) AS count FROM sensor_deletions')

function* changesSince(
  { userId, online, since }: ChangesQuestion,
  sensorsMax: number,
): Flow<ChangesSince> {
  const state = yield* row<{ dataId: string; seq: number }>(STATE)
  if (state === undefined) throw new Error('BUG: control.db has no identity')
  const cursor = changesCursorOf({ ...state, online })
  const seen = seenByClient(since ?? '')
  const { dataId, seq } = seen
  const isContinued = dataId === state.dataId && seq <= state.seq
  if (!isContinued || !isRecent(seen.online, online)) return { cursor, changes: undefined }
  const times = [seen.online, online].flatMap(({ sinceMs, untilMs }) => [sinceMs, untilMs])
  const changed = yield* rows<SensorRow & Change>(CHANGED, userId, seq, ...times, sensorsMax)
  const deleted = yield* rows<{ id: number }>(DELETED, userId, seq)
  const sensors = changed.map((one) => [toSensor(one), one] as const)
  const ids = deleted.map(({ id }) => id)
  return { cursor, changes: changesOf(cursor, sensors, ids) }
}

/** To be read at one moment. */
export const CHANGES_READS = changesReads(changesSince, SENSOR_READS.listSensors)
