// What has changed of a user's sensors since a row of the journal: every change has one, and rows
// are the only clock.

import { changesAgeMsMax, deletionsNamedMax } from '../../domain/limits.ts'
import type { ChangesQuestion, HistoryChange, SensorChanges } from '../../ports/sensor-changes.ts'
import { changesCursorOf, seenByClient } from '../data-version.ts'
import type { ClientSeen } from '../data-version.ts'
import type { Connection } from '../database.ts'
import { EVERYTHING_MS, HISTORY_FROM } from './history-steps.ts'
import { SENSOR_COLUMNS, toSensor } from './sensor-rows.ts'
import type { SensorRow, SensorRows } from './sensor-rows.ts'

interface ChangedRow extends SensorRow {
  /** `null`: its history is as it was. */
  readonly fromMs: number | null
}

const STATE = `
  SELECT id AS dataId,
    ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'journal'), 0) AS seq
  FROM data_identity`
const CHANGED = `
  SELECT ${SENSOR_COLUMNS},
    CASE WHEN compensated_seq > @seq THEN ${EVERYTHING_MS} ELSE ${HISTORY_FROM} END AS fromMs
  FROM sensors s LEFT JOIN sensor_latest ON sensor_id = s.id
  WHERE s.user_id = @userId AND s.deleted_at_ms IS NULL
    AND (changed_seq > @seq OR data_seq > @seq
      OR min(last_seen_at_ms, measured_at_ms) >= @thenMs
        <> (min(last_seen_at_ms, measured_at_ms) >= @nowMs))
  ORDER BY s.id`
const DELETED = `
  SELECT id FROM sensors WHERE user_id = ? AND changed_seq > ? AND deleted_at_ms IS NOT NULL
  ORDER BY id LIMIT ?`

export class ChangeRows {
  readonly #state
  readonly #changed
  readonly #deleted
  readonly #sensors: SensorRows

  constructor(db: Connection, sensors: SensorRows) {
    this.#state = db.prepare<[], { dataId: string; seq: number }>(STATE)
    this.#changed = db.prepare<[object], ChangedRow>(CHANGED)
    this.#deleted = db.prepare<[number, number, number], number>(DELETED).pluck()
    this.#sensors = sensors
  }

  /** To be called in a transaction. */
  read({ userId, onlineSinceMs, since }: ChangesQuestion): SensorChanges {
    const state = this.#state.get()
    if (state === undefined) throw new Error('BUG: control.db has no identity')
    const now: ClientSeen = { ...state, onlineSinceMs }
    const cursor = changesCursorOf(now)
    const seen = since === undefined ? undefined : seenByClient(since)
    const changes = seen !== undefined && isContinued(seen, now) && this.#since(userId, seen, now)
    if (changes) return { cursor, isReset: false, ...changes }
    const sensors = this.#sensors.list(userId)
    return { cursor, isReset: true, sensors, deletedIds: [], histories: [] }
  }

  /** @returns `undefined`: too much to tell */
  #since(userId: number, seen: ClientSeen, now: ClientSeen) {
    const { seq } = seen
    const deletedIds = this.#deleted.all(userId, seq, deletionsNamedMax + 1)
    if (deletedIds.length > deletionsNamedMax) return undefined
    const times = { thenMs: seen.onlineSinceMs, nowMs: now.onlineSinceMs }
    const rows = this.#changed.all({ userId, seq, ...times })
    const histories = rows.flatMap(({ id, fromMs }): HistoryChange[] => {
      if (fromMs === null) return []
      return [{ sensorId: id, fromMs: fromMs <= EVERYTHING_MS ? null : fromMs }]
    })
    const sensors = rows.map(({ fromMs: _fromMs, ...row }) => toSensor(row))
    return { sensors, deletedIds, histories }
  }
}

/** Whether the cursor is of these data, and not too old. */
function isContinued(seen: ClientSeen, now: ClientSeen): boolean {
  return (
    seen.dataId === now.dataId &&
    seen.seq <= now.seq &&
    seen.onlineSinceMs >= now.onlineSinceMs - changesAgeMsMax
  )
}
