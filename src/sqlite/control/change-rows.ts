// What has changed of a user's sensors since a row of the journal: every change has one, and rows
// are the only clock.

import { changesOf, DELETIONS_READ_MAX, isRecent, resetTo } from '../../control/sensor-changes.ts'
import type { Change } from '../../control/sensor-changes.ts'
import { HOUR_MS } from '../../domain/time.ts'
import type { ChangesQuestion, SensorChanges } from '../../ports/sensor-changes.ts'
import { changesCursorOf, seenByClient } from '../data-version.ts'
import type { Connection } from '../database.ts'
import { SENSOR_COLUMNS, toSensor } from './sensor-rows.ts'
import type { SensorRow, SensorRows } from './sensor-rows.ts'

const STATE = `
  SELECT id AS dataId, ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'journal'), 0) AS seq
  FROM data_identity`
const STEPS = `
  SELECT min(hour) * ${HOUR_MS} FROM history_steps h WHERE h.sensor_id = s.id AND h.seq > @seq`
/** From when on the history of the sensor `s` differs: the schema says how that is kept. */
const HISTORY_FROM = `
  CASE WHEN data_seq > @seq THEN min(oldest_at_ms,
    iif(before_seq > @seq, before_hour * ${HOUR_MS}, oldest_at_ms),
    ifnull((${STEPS}), oldest_at_ms)) END`
const WAS_ONLINE = 'min(last_seen_at_ms, measured_at_ms) >= @thenMs'
const IS_ONLINE = '(min(last_seen_at_ms, measured_at_ms) >= @nowMs)'
const CHANGED = `
  SELECT ${SENSOR_COLUMNS}, ${HISTORY_FROM} AS fromMs, compensated_seq > @seq AS isCompensated,
    ${WAS_ONLINE} AND NOT ${IS_ONLINE} AS isSilent
  FROM sensors s LEFT JOIN sensor_latest ON sensor_id = s.id
  WHERE s.user_id = @userId AND s.deleted_at_ms IS NULL
    AND (changed_seq > @seq OR data_seq > @seq OR ${WAS_ONLINE} <> ${IS_ONLINE})
  ORDER BY s.id`
const DELETED = `
  SELECT id FROM sensors WHERE user_id = ? AND changed_seq > ? AND deleted_at_ms IS NOT NULL
  ORDER BY id LIMIT ${DELETIONS_READ_MAX}`

export class ChangeRows {
  readonly #state
  readonly #changed
  readonly #deleted
  readonly #sensors: SensorRows

  constructor(db: Connection, sensors: SensorRows) {
    this.#state = db.prepare<[], { dataId: string; seq: number }>(STATE)
    this.#changed = db.prepare<[object], SensorRow & Change>(CHANGED)
    this.#deleted = db.prepare<[number, number], number>(DELETED).pluck()
    this.#sensors = sensors
  }

  /** To be called in a transaction. */
  read({ userId, onlineSinceMs, since }: ChangesQuestion): SensorChanges {
    const state = this.#state.get()
    if (state === undefined) throw new Error('BUG: control.db has no identity')
    const cursor = changesCursorOf({ ...state, onlineSinceMs })
    const { dataId, seq, onlineSinceMs: thenMs } = seenByClient(since ?? '')
    const isContinued = dataId === state.dataId && seq <= state.seq
    if (isContinued && isRecent({ onlineSinceMs: thenMs }, onlineSinceMs)) {
      const rows = this.#changed.all({ userId, seq, thenMs, nowMs: onlineSinceMs })
      const changed = rows.map((row) => [toSensor(row), row] as const)
      const changes = changesOf(cursor, changed, this.#deleted.all(userId, seq))
      if (changes !== undefined) return changes
    }
    return resetTo(cursor, this.#sensors.list(userId))
  }
}
