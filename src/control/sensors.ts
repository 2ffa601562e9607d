// Sensors as their users see them: the row, with the latest value.

import { serialNumberKey } from '../domain/sensor.ts'
import type { DataVersion, OnlineTimes, Sensor } from '../domain/sensor.ts'
import { row, rows } from './flow.ts'
import type { Flow } from './flow.ts'

/** Where an engine keeps them, in its SQL. */
export interface SensorTables {
  /** The sensors `s` with their latest values `t`, including deleted ones. */
  readonly from: string
  /** A sensor's version. */
  readonly dataVersion: string
  /**
   * A statement: the version of everything shown of the user `$1`'s sensors, with those online by
   * the times `$2` and `$3`.
   */
  readonly readVersion: string
}

export interface SensorRow extends Omit<Sensor, 'latest'> {
  readonly measuredAtMs: number | null
  readonly rawCelsius: number | null
  readonly dataVersion: DataVersion
}

/** SQL: whether the sensor with the latest value `t` is online by these times. */
export function isOnlineAt(sinceMs: string, untilMs: string): string {
  const isMeasured = `t.measured_at_ms BETWEEN ${sinceMs} AND ${untilMs}`
  return `coalesce(t.last_seen_at_ms >= ${sinceMs} AND ${isMeasured}, false)`
}

/**
 * SQL, for `readVersion`: how many sensors `t` are recent, and how many are not ahead. Without
 * news, these become ever fewer, and those ever more: while both stay, so does who is online.
 */
export const ONLINE_COUNTS = `
  count(*) FILTER (WHERE t.last_seen_at_ms >= $2 AND t.measured_at_ms >= $2) || ' ' ||
    count(*) FILTER (WHERE t.measured_at_ms <= $3)`

export function sensorColumns({ dataVersion }: SensorTables): string {
  return `
    s.id, s.user_id AS "userId", s.serial_number AS "serialNumber", s.alias,
    s.compensation_celsius AS "compensationCelsius", s.created_at_ms AS "createdAtMs",
    t.last_seen_at_ms AS "lastSeenAtMs", t.measured_at_ms AS "measuredAtMs",
    t.temp_celsius AS "rawCelsius", ${dataVersion} AS "dataVersion"`
}

/** For one engine. */
export function sensorReads(tables: SensorTables) {
  const live = `
    SELECT ${sensorColumns(tables)} FROM ${tables.from} WHERE s.deleted_at_ms IS NULL`
  const ofUser = `${live} AND s.user_id = $1`
  const list = `${ofUser} ORDER BY s.id`
  // Ids have four bytes, but a request may ask for any number.
  const find = `${ofUser} AND s.id = CAST($2 AS bigint)`
  const findBySerialNumbers = `${ofUser} AND s.serial_number_key = ANY ($2::text[])`
  const findOfAnyone = `${live} AND s.id = CAST($1 AS bigint)`

  function* listSensors(userId: number): Flow<readonly Sensor[]> {
    return (yield* rows<SensorRow>(list, userId)).map(toSensor)
  }
  function* findSensor(userId: number, sensorId: number): Flow<Sensor | undefined> {
    const found = yield* row<SensorRow>(find, userId, sensorId)
    return found && toSensor(found)
  }
  function* findSensors(userId: number, serialNumbers: readonly string[]): Flow<readonly Sensor[]> {
    const keys = serialNumbers.map(serialNumberKey)
    return (yield* rows<SensorRow>(findBySerialNumbers, userId, keys)).map(toSensor)
  }
  function* findSensorOfAnyone(sensorId: number): Flow<Sensor | undefined> {
    const found = yield* row<SensorRow>(findOfAnyone, sensorId)
    return found && toSensor(found)
  }
  function* readSensorsVersion(userId: number, online: OnlineTimes): Flow<string> {
    const values = [userId, online.sinceMs, online.untilMs]
    const found = yield* row<{ version: string }>(tables.readVersion, ...values)
    return found?.version ?? ''
  }
  return { listSensors, findSensor, findSensors, findSensorOfAnyone, readSensorsVersion }
}

/** @param found may have more columns */
export function toSensor(found: SensorRow): Sensor {
  const { measuredAtMs, rawCelsius } = found
  const hasLatest = measuredAtMs !== null && rawCelsius !== null
  return {
    id: found.id,
    userId: found.userId,
    serialNumber: found.serialNumber,
    alias: found.alias,
    compensationCelsius: found.compensationCelsius,
    createdAtMs: found.createdAtMs,
    lastSeenAtMs: found.lastSeenAtMs,
    latest: hasLatest ? { measuredAtMs, rawCelsius } : null,
    dataVersion: found.dataVersion,
  }
}
