// Registering, changing and deleting sensors, as it runs in the commit thread: each change in a
// transaction of its own between groups of submissions.

import { mayLeave } from '../../control/users.ts'
import { serialNumberKey } from '../../domain/sensor.ts'
import type { Sensor, SensorChange } from '../../domain/sensor.ts'
import { DAY_MS } from '../../domain/time.ts'
import type { Clock } from '../../ports/system.ts'
import type { SensorDirectory } from '../commit/sensor-directory.ts'
import type { Connection } from '../database.ts'
import { FlowRunner } from '../run-flow.ts'
import { SENSOR_READS } from './sensor-reads.ts'

// Tokens and identities are deleted with it.
const DELETE_USER = 'DELETE FROM users WHERE id = ?'
const WIPE_SERIAL_NUMBERS = `
  UPDATE sensors SET serial_number = '', serial_number_key = '' WHERE user_id = ?`
const INSERT_SENSOR = `
  INSERT INTO sensors
    (id, user_id, serial_number, serial_number_key, alias, created_at_ms, info_at_ms, changed_seq)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
const CHANGE_SENSOR = `
  UPDATE sensors SET alias = ifnull(@alias, alias),
    compensation_celsius = ifnull(@compensation, compensation_celsius),
    info_at_ms = max(info_at_ms + 1, @nowMs), changed_seq = @seq,
    compensated_seq =
      iif(@compensation <> compensation_celsius, @seq, compensated_seq)
  WHERE id = @sensorId AND user_id = @userId AND deleted_at_ms IS NULL`
const DELETE_SENSORS = `
  UPDATE sensors SET deleted_at_ms = @nowMs, changed_seq = @seq, alias = '',
    compensation_celsius = 0
  WHERE user_id = @userId AND deleted_at_ms IS NULL`
const DELETE_ALL = `${DELETE_SENSORS} RETURNING id`
const DELETE_ONE = `${DELETE_SENSORS} AND id = @sensorId RETURNING id`
// The accepted days tell between which times a sensor's measurements lie.
const ORDER_DELETIONS = `
  INSERT INTO sensor_deletions (sensor_id, user_id, start_ms, stop_ms, after_seq, due_at_ms)
  SELECT value, @userId, ifnull(min(day), 0) * ${DAY_MS}, (ifnull(max(day), -1) + 1) * ${DAY_MS},
    @seq - 1, @nowMs
  FROM json_each(@ids) LEFT JOIN accepted_per_day ON sensor_id = value GROUP BY value`
const forgetIn = (table: string) => `
  DELETE FROM ${table} WHERE sensor_id IN (SELECT value FROM json_each(@ids))`
const FORGET = ['sensor_latest', 'history_revisions', 'accepted_per_day', 'set_aside'].map(forgetIn)
const LAST_SEQ = "SELECT seq FROM sqlite_sequence WHERE name = 'journal'"
const NOTE_PASS =
  'UPDATE sensor_deletions SET passes = passes + 1, due_at_ms = ? WHERE sensor_id = ?'
// After a crash, the rows after the watermark are forwarded again, and the watermark is saved late.
// So a deletion is repeated until the watermark is past its rows.
const END_DELETION = `
  DELETE FROM sensor_deletions
  WHERE sensor_id = ? AND after_seq <= (SELECT forwarded_seq FROM journal_watermark WHERE id = 1)`
const INSERT_EMPTY_ROW = 'INSERT INTO journal (committed_at_ms, measurements) VALUES (?, 0)'
const INSERT_INFO = `
  INSERT INTO journal (committed_at_ms, measurements, sensor_infos)
  SELECT ?, 0, json_array(json_object('userId', user_id, 'sensorId', id, 'atMs', info_at_ms,
    'serialNumber', serial_number, 'alias', alias, 'compensationCelsius', compensation_celsius))
  FROM sensors WHERE id = ?`

export function sensorCommands(
  db: Connection,
  directory: SensorDirectory,
  clock: Clock,
  { sensorsPerUserMax }: { readonly sensorsPerUserMax: number },
) {
  const flows = new FlowRunner(db)
  const inTransaction = <Result>(work: (nowMs: number) => Result): Result =>
    db.transaction(() => work(clock.nowMs())).immediate()
  return {
    deleteUser: (userId: number): number | undefined => {
      const deleted = inTransaction((nowMs) => deleteUserRows(db, userId, nowMs))
      directory.closeUser(userId)
      return deleted
    },
    deleteAccount: (userId: number): boolean => {
      const isDeleted = inTransaction((nowMs) => {
        const isAllowed = flows.run(mayLeave(userId, nowMs))
        return isAllowed && deleteUserRows(db, userId, nowMs) !== undefined
      })
      if (isDeleted) directory.closeUser(userId)
      return isDeleted
    },
    createSensor: (
      userId: number,
      serialNumber: string,
      alias: string | undefined,
    ): Sensor | 'taken' | 'quota' => {
      if (directory.find(userId, serialNumber) !== undefined) return 'taken'
      if (directory.count(userId) >= sensorsPerUserMax) return 'quota'
      const id = directory.takeId()
      const key = serialNumberKey(serialNumber)
      inTransaction((nowMs) => {
        const row = [id, userId, serialNumber, key, alias ?? serialNumber, nowMs, nowMs]
        db.prepare(INSERT_SENSOR).run(...row, nextSeq(db))
        db.prepare(INSERT_INFO).run(nowMs, id)
      })
      directory.forgetAll()
      const sensor = flows.run(SENSOR_READS.findSensor(userId, id))
      if (sensor === undefined) throw new Error(`BUG: sensor ${id} is not there after its creation`)
      return sensor
    },
    changeSensor: (userId: number, sensorId: number, change: SensorChange): Sensor | undefined => {
      const { alias = null, compensationCelsius = null } = change
      inTransaction((nowMs) => {
        const values = { alias, compensation: compensationCelsius, nowMs, sensorId, userId }
        const { changes } = db.prepare(CHANGE_SENSOR).run({ ...values, seq: nextSeq(db) })
        if (changes > 0) db.prepare(INSERT_INFO).run(nowMs, sensorId)
      })
      return flows.run(SENSOR_READS.findSensor(userId, sensorId))
    },
    deleteSensor: (userId: number, sensorId: number): boolean => {
      const wasThere = inTransaction((nowMs) => {
        const isDeleted = deleteSensorRows(db, { userId, nowMs, sensorId }) > 0
        // The row that cursors are compared with.
        if (isDeleted) db.prepare(INSERT_EMPTY_ROW).run(nowMs)
        return isDeleted
      })
      if (wasThere) directory.forgetAll()
      return wasThere
    },
    noteDeletionPass: (sensorId: number, dueAtMs: number | undefined): void => {
      if (dueAtMs === undefined) db.prepare(END_DELETION).run(sensorId)
      else db.prepare(NOTE_PASS).run(dueAtMs, sensorId)
    },
  }
}

/** @returns how many sensors they had, `undefined` if there is no such user */
function deleteUserRows(db: Connection, userId: number, nowMs: number): number | undefined {
  const sensors = deleteSensorRows(db, { userId, nowMs })
  db.prepare(WIPE_SERIAL_NUMBERS).run(userId)
  return db.prepare(DELETE_USER).run(userId).changes > 0 ? sensors : undefined
}

/** Without a `sensorId`, all of the user's. @returns how many were there */
function deleteSensorRows(
  db: Connection,
  order: { readonly userId: number; readonly nowMs: number; readonly sensorId?: number },
): number {
  const of = { ...order, seq: nextSeq(db) }
  const deletion = db.prepare(order.sensorId === undefined ? DELETE_ALL : DELETE_ONE)
  const deleted = deletion.pluck().all(of)
  const sensors = { ...of, ids: JSON.stringify(deleted) }
  for (const sql of [ORDER_DELETIONS, ...FORGET]) db.prepare(sql).run(sensors)
  return deleted.length
}

/** Of the row that this transaction is about to write. */
function nextSeq(db: Connection): number {
  return (db.prepare<[], number>(LAST_SEQ).pluck().get() ?? 0) + 1
}
