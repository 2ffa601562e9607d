// Registers, changes and deletes sensors. Locks are taken in the same order as by groups: the state
// of the user, that of the sensor.

import { serialNumberKey } from '../../domain/sensor.ts'
import type { Sensor, SensorChange } from '../../domain/sensor.ts'
import { DAY_MS } from '../../domain/time.ts'
import { runFlow } from '../server/database.ts'
import type { Sql } from '../server/database.ts'
import { TAKE_SENSOR_IDS } from '../stream/lane-statements.ts'
import { SENSOR_READS } from './sensor-rows.ts'

const LOCK_USER = `
  SELECT sensors, settings + 1 AS settings FROM user_state
  WHERE user_id = $1 FOR NO KEY UPDATE`
const CHANGE_USER = `
  UPDATE user_state SET sensors = sensors + $2, settings = settings + 1
  WHERE user_id = $1`
const IS_TAKEN = `
  SELECT 1 FROM sensors
  WHERE user_id = $1 AND serial_number_key = $2 AND deleted_at_ms IS NULL`
const INSERT = `
  INSERT INTO sensors (id, user_id, serial_number, serial_number_key, alias, created_at_ms,
    changed_at_settings)
  VALUES ($7, $1, $2, $3, $4, $5, $6)`
const INSERT_STATE = 'INSERT INTO sensor_state (sensor_id, user_id) VALUES ($1, $2)'
const CHANGE = `
  UPDATE sensors SET alias = coalesce($3, alias),
    compensation_celsius = coalesce($4, compensation_celsius), changed_at_settings = $5,
    compensated_at_settings =
      CASE WHEN $4 <> compensation_celsius THEN $5 ELSE compensated_at_settings END
  WHERE user_id = $1 AND id = $2::bigint AND deleted_at_ms IS NULL`
const DELETE = `
  UPDATE sensors SET deleted_at_ms = $3, changed_at_settings = $4, alias = '',
    compensation_celsius = 0
  WHERE user_id = $1 AND id = $2::bigint AND deleted_at_ms IS NULL`
// Waits for the groups that are writing to the sensors; later ones find them gone.
const LOCK_STATES = `
  SELECT 1 FROM sensor_state
  WHERE sensor_id = ANY ($1::int[]) ORDER BY sensor_id FOR UPDATE`
// Run as a statement of its own after the locks were granted: then it sees the days and heads that
// the last groups wrote. Sensors that were deleted before have no state.
const REMOVE_STATES = `
  WITH states AS (
    DELETE FROM sensor_state WHERE sensor_id = ANY ($1::int[])
    RETURNING sensor_id, user_id),
  revisions AS (DELETE FROM history_revisions WHERE sensor_id = ANY ($1::int[])),
  aside AS (DELETE FROM set_aside WHERE sensor_id = ANY ($1::int[])),
  days AS (
    DELETE FROM accepted_per_day WHERE sensor_id = ANY ($1::int[])
    RETURNING sensor_id, day)
  INSERT INTO sensor_deletions (sensor_id, user_id, start_ms, stop_ms, due_at_ms, heads)
  SELECT sensor_id, user_id, coalesce(min(day), 0) * ${DAY_MS}::bigint,
    (coalesce(max(day), -1) + 1) * ${DAY_MS}::bigint, $2,
    (SELECT coalesce(string_agg(stream_id || ':' || head, ',' ORDER BY stream_id), '')
      FROM streams)
  FROM states LEFT JOIN days USING (sensor_id) GROUP BY sensor_id, user_id`

interface LockedUser {
  readonly sensors: number
  /** The counter of settings after this transaction. */
  readonly settings: number
}

export interface NewSensor {
  readonly userId: number
  readonly serialNumber: string
  readonly alias: string | undefined
}

interface Terms {
  readonly nowMs: number
  readonly sensorsPerUserMax: number
}

export async function createSensor(
  sql: Sql,
  { userId, serialNumber, alias }: NewSensor,
  { nowMs, sensorsPerUserMax }: Terms,
): Promise<Sensor | 'taken' | 'quota'> {
  const [user] = await sql.rows<LockedUser>(LOCK_USER, [userId])
  const key = serialNumberKey(serialNumber)
  if ((await sql.rows(IS_TAKEN, [userId, key])).length > 0) return 'taken'
  if (user === undefined || user.sensors >= sensorsPerUserMax) return 'quota'
  const [taken] = await sql.rows<{ id: number }>(TAKE_SENSOR_IDS, [1])
  const sensorId = taken?.id ?? 0
  const names = [serialNumber, key, alias ?? serialNumber]
  await sql.change(INSERT, [userId, ...names, nowMs, user.settings, sensorId])
  await sql.change(INSERT_STATE, [sensorId, userId])
  await sql.change(CHANGE_USER, [userId, 1])
  const sensor = await runFlow(sql, SENSOR_READS.findSensor(userId, sensorId))
  if (sensor === undefined) throw new Error(`BUG: sensor ${sensorId} is not there`)
  return sensor
}

export async function changeSensor(
  sql: Sql,
  { userId, sensorId }: { readonly userId: number; readonly sensorId: number },
  { alias = null, compensationCelsius = null }: SensorChangeRow,
): Promise<Sensor | undefined> {
  const [user] = await sql.rows<LockedUser>(LOCK_USER, [userId])
  const values = [userId, sensorId, alias, compensationCelsius]
  if (user === undefined) return undefined
  if ((await sql.change(CHANGE, [...values, user.settings])) === 0) return undefined
  await sql.change(CHANGE_USER, [userId, 0])
  return runFlow(sql, SENSOR_READS.findSensor(userId, sensorId))
}

interface SensorChangeRow {
  readonly alias?: SensorChange['alias'] | null
  readonly compensationCelsius?: SensorChange['compensationCelsius'] | null
}

/** @returns whether the user had the sensor */
export async function deleteSensor(
  sql: Sql,
  { userId, sensorId, nowMs }: { userId: number; sensorId: number; nowMs: number },
): Promise<boolean> {
  const [user] = await sql.rows<LockedUser>(LOCK_USER, [userId])
  const row = [userId, sensorId, nowMs, user?.settings]
  if (user === undefined || (await sql.change(DELETE, row)) === 0) return false
  await sql.change(CHANGE_USER, [userId, -1])
  await removeStates(sql, [sensorId], nowMs)
  return true
}

/** Deletes all of the sensors but their rows, and has the store delete their measurements. */
export async function removeStates(
  sql: Sql,
  sensorIds: readonly number[],
  nowMs: number,
): Promise<void> {
  await sql.rows(LOCK_STATES, [sensorIds])
  await sql.change(REMOVE_STATES, [sensorIds, nowMs])
}
