// Sensors as their users see them: the row, together with the latest value.

import type { Sensor } from '../../domain/sensor.ts'
import { versionOf } from '../data-version.ts'
import type { Connection } from '../database.ts'

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
// Journal rows and info times only grow, so their sums reveal any change to existing sensors; the
// highest id and the count reveal which sensors exist; and without news, the number online only
// falls.
const VERSION = `
  SELECT count(*) || ' ' || ifnull(max(id), 0) || ' ' || ifnull(sum(info_at_ms), 0) || ' ' ||
    ifnull(sum(data_seq), 0) || ' ' ||
    count(*) FILTER (WHERE last_seen_at_ms >= ? AND measured_at_ms >= ?)
  FROM sensors LEFT JOIN sensor_latest ON sensor_id = id
  WHERE user_id = ? AND deleted_at_ms IS NULL`

export class SensorRows {
  readonly #version
  readonly #list
  readonly #find
  readonly #findOfAnyone

  constructor(db: Connection) {
    this.#version = db.prepare<[number, number, number], string>(VERSION).pluck()
    this.#list = db.prepare<[number], SensorRow>(LIST)
    this.#find = db.prepare<[number, number], SensorRow>(FIND)
    this.#findOfAnyone = db.prepare<[number], SensorRow>(FIND_OF_ANYONE)
  }

  /** Changes whenever anything shown about a user's sensors changes. */
  version(userId: number, onlineSinceMs: number): string {
    return this.#version.get(onlineSinceMs, onlineSinceMs, userId) ?? ''
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
  const { measuredAtMs, rawCelsius, dataSeq } = row
  const hasLatest = measuredAtMs !== null && rawCelsius !== null
  return {
    id: row.id,
    userId: row.userId,
    serialNumber: row.serialNumber,
    alias: row.alias,
    compensationCelsius: row.compensationCelsius,
    createdAtMs: row.createdAtMs,
    lastSeenAtMs: row.lastSeenAtMs,
    latest: hasLatest ? { measuredAtMs, rawCelsius } : null,
    dataVersion: versionOf(dataSeq ?? 0),
  }
}
