// Sensors as their users see them: the row, together with the latest value.

import type { Sensor } from '../../domain/sensor.ts'
import type { SensorCursor, SensorNews } from '../../ports/control-reader.ts'
import { cursorOf, seenAt, versionOf } from '../data-version.ts'
import type { Connection } from '../database.ts'
import { HISTORY_FROM } from './history-steps.ts'

export interface SensorRow {
  id: number
  userId: number
  serialNumber: string
  alias: string
  compensationCelsius: number
  createdAtMs: number
  lastSeenAtMs: number | null
  measuredAtMs: number | null
  rawCelsius: number | null
  dataSeq: number | null
}

export const SENSOR_COLUMNS = `
  id, user_id AS userId, serial_number AS serialNumber, alias,
  compensation_celsius AS compensationCelsius, created_at_ms AS createdAtMs,
  last_seen_at_ms AS lastSeenAtMs, measured_at_ms AS measuredAtMs, temp_celsius AS rawCelsius,
  data_seq AS dataSeq`
const SENSORS = `
  SELECT ${SENSOR_COLUMNS} FROM sensors LEFT JOIN sensor_latest ON sensor_id = id
  WHERE deleted_at_ms IS NULL`
const OF_USER = `${SENSORS} AND user_id = ?`
const LIST = `${OF_USER} ORDER BY id`
const FIND = `${OF_USER} AND id = ?`
const FIND_OF_ANYONE = `${SENSORS} AND id = ?`
const NEWS = `
  SELECT ${SENSOR_COLUMNS}, ${HISTORY_FROM} AS fromMs
  FROM sensors s LEFT JOIN sensor_latest ON sensor_id = s.id
  WHERE deleted_at_ms IS NULL AND user_id = @userId AND (@isWhole OR data_seq > @seq)
  ORDER BY id`

// Journal rows and info times only grow, so their sums reveal any change to existing sensors; the
// highest id and the count reveal which sensors exist; and without news, the number online only
// falls.
const VERSION = `
  SELECT count(*) || ' ' || ifnull(max(id), 0) || ' ' || ifnull(sum(info_at_ms), 0) || ' ' ||
    ifnull(sum(data_seq), 0) || ' ' ||
    count(*) FILTER (WHERE last_seen_at_ms >= ? AND measured_at_ms >= ?)
  FROM sensors LEFT JOIN sensor_latest ON sensor_id = id
  WHERE user_id = ? AND deleted_at_ms IS NULL`

const SETTINGS = `
  SELECT count(*) || ' ' || ifnull(max(id), 0) || ' ' || ifnull(sum(info_at_ms), 0)
  FROM sensors WHERE user_id = ? AND deleted_at_ms IS NULL`

export class SensorRows {
  readonly #version
  readonly #settings
  readonly #news
  readonly #list
  readonly #find
  readonly #findOfAnyone

  constructor(db: Connection) {
    this.#version = db.prepare<[number, number, number], string>(VERSION).pluck()
    this.#settings = db.prepare<[number], string>(SETTINGS).pluck()
    this.#news = db.prepare<[object], SensorRow & { fromMs: number | null }>(NEWS)
    this.#list = db.prepare<[number], SensorRow>(LIST)
    this.#find = db.prepare<[number, number], SensorRow>(FIND)
    this.#findOfAnyone = db.prepare<[number], SensorRow>(FIND_OF_ANYONE)
  }

  /** Changes whenever anything shown about a user's sensors changes. */
  version(userId: number, onlineSinceMs: number): string {
    return this.#version.get(onlineSinceMs, onlineSinceMs, userId) ?? ''
  }

  /** What has changed since a look; to be called in a transaction. */
  news(userId: number, since: SensorCursor | undefined): SensorNews {
    const settings = this.#settings.get(userId) ?? ''
    const seen = since === undefined ? undefined : seenAt(since)
    const isWhole = settings !== seen?.settings
    const seenSeq = seen?.dataSeq ?? 0
    // With nothing seen, nobody has a history yet.
    const seq = seen === undefined ? Number.MAX_SAFE_INTEGER : seenSeq
    const rows = this.#news.all({ userId, isWhole: Number(isWhole), seq })
    const dataSeq = rows.reduce((greatest, row) => Math.max(greatest, row.dataSeq ?? 0), seenSeq)
    return {
      cursor: cursorOf({ settings, dataSeq }),
      isWhole,
      sensors: rows.map(({ fromMs: _fromMs, ...row }) => toSensor(row)),
      oldestMs: new Map(rows.flatMap(({ id, fromMs }) => (fromMs === null ? [] : [[id, fromMs]]))),
      deleted: undefined,
    }
  }

  list(userId: number): Sensor[] {
    return this.#list.all(userId).map(toSensor)
  }

  find(userId: number, sensorId: number): Sensor | undefined {
    const row = this.#find.get(userId, sensorId)
    return row && toSensor(row)
  }

  findOfAnyone(sensorId: number): Sensor | undefined {
    const row = this.#findOfAnyone.get(sensorId)
    return row && toSensor(row)
  }
}

export function toSensor(row: SensorRow): Sensor {
  const { measuredAtMs, rawCelsius, dataSeq, ...sensor } = row
  const hasLatest = measuredAtMs !== null && rawCelsius !== null
  return {
    ...sensor,
    latest: hasLatest ? { measuredAtMs, rawCelsius } : null,
    dataVersion: versionOf(dataSeq ?? 0),
  }
}
