// Sensors as their users see them: the row, and the latest value beside it.

import type { Sensor } from '../../domain/sensor.ts'
import type { VersionedSensors } from '../../ports/control-reader.ts'
import { bucketOf } from '../bucket.ts'
import { versionOf } from '../data-version.ts'
import type { PlacesText } from '../data-version.ts'
import type { Database, Sql } from '../database.ts'

export interface SensorRow extends Omit<Sensor, 'latest' | 'dataVersion'> {
  readonly measuredAtMs: number | null
  readonly rawCelsius: number | null
  readonly version: number
  readonly pending: PlacesText
  readonly epoch: string
}

export const SENSOR_COLUMNS = `
  s.id, s.user_id AS "userId", s.serial_number AS "serialNumber", s.alias,
  s.compensation_celsius AS "compensationCelsius", s.created_at_ms AS "createdAtMs",
  t.last_seen_at_ms AS "lastSeenAtMs", t.measured_at_ms AS "measuredAtMs",
  t.temp_celsius AS "rawCelsius", t.version, t.pending`
export const LIVE = `
  sensors s JOIN user_state u ON u.bucket = s.bucket AND u.user_id = s.user_id
    JOIN sensor_state t ON t.bucket = s.bucket AND t.sensor_id = s.id
  WHERE s.deleted_at_ms IS NULL`
const SENSORS = `
  SELECT ${SENSOR_COLUMNS}, (SELECT epoch FROM data_identity) AS epoch FROM ${LIVE}`
const OF_USER = `${SENSORS} AND s.bucket = $1 AND s.user_id = $2`
const LIST = `${OF_USER} ORDER BY s.id`
// Ids have four bytes; what somebody asks for may be any number.
const FIND = `${OF_USER} AND s.id = $3::bigint`
const FIND_OF_ANYONE = `${SENSORS} AND s.id = $1::bigint`

// Versions and settings only grow, and of sensors without news ever fewer are online.
const VERSION = `
  SELECT i.epoch || ' ' || coalesce(max(u.settings), 0) || ' ' || coalesce(sum(t.version), 0)
    || ' ' || count(*) FILTER (WHERE t.last_seen_at_ms >= $3 AND t.measured_at_ms >= $3) AS version
  FROM data_identity i
    LEFT JOIN user_state u ON u.bucket = $1 AND u.user_id = $2
    LEFT JOIN sensor_state t ON t.bucket = $1 AND t.user_id = $2
  GROUP BY i.epoch`

export async function listSensors(sql: Sql, userId: number): Promise<Sensor[]> {
  return (await sql.rows<SensorRow>(LIST, [bucketOf(userId), userId])).map(toSensor)
}

export async function findSensor(
  sql: Sql,
  userId: number,
  sensorId: number,
): Promise<Sensor | undefined> {
  const [row] = await sql.rows<SensorRow>(FIND, [bucketOf(userId), userId, sensorId])
  return row && toSensor(row)
}

export async function findSensorOfAnyone(sql: Sql, sensorId: number): Promise<Sensor | undefined> {
  const [row] = await sql.rows<SensorRow>(FIND_OF_ANYONE, [sensorId])
  return row && toSensor(row)
}

export async function readSensors(
  database: Database,
  of: { readonly userId: number; readonly onlineSinceMs: number },
  isKnown: (version: string) => boolean,
): Promise<VersionedSensors> {
  const { userId, onlineSinceMs } = of
  const readVersion = async (sql: Sql) => {
    const values = [bucketOf(userId), userId, onlineSinceMs]
    const [row] = await sql.rows<{ version: string }>(VERSION, values)
    return row?.version ?? ''
  }
  const version = await readVersion(database)
  if (isKnown(version)) return { version, sensors: undefined }
  return database.view(async (sql) => {
    return { version: await readVersion(sql), sensors: await listSensors(sql, userId) }
  })
}

export function toSensor(row: SensorRow): Sensor {
  const { measuredAtMs, rawCelsius, version, pending, epoch } = row
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
    dataVersion: versionOf({ epoch, version, pending }),
  }
}
