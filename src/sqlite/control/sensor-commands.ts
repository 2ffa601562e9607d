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
import { SENSOR_READS } from './sensor-rows.ts'

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
const FORGET = ['sensor_latest', 'history_steps', 'accepted_per_day', 'set_aside'].map(forgetIn)
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

export class SensorCommands {
  readonly #db: Connection
  readonly #directory: SensorDirectory
  readonly #clock: Clock
  readonly #sensorsPerUserMax: number
  readonly #flows: FlowRunner

  constructor(
    db: Connection,
    directory: SensorDirectory,
    clock: Clock,
    settings: { sensorsPerUserMax: number },
  ) {
    this.#db = db
    this.#directory = directory
    this.#clock = clock
    this.#sensorsPerUserMax = settings.sensorsPerUserMax
    this.#flows = new FlowRunner(db)
  }

  deleteUser(userId: number): number | undefined {
    const nowMs = this.#clock.nowMs()
    const deleted = this.#inTransaction(() => this.#deleteUserRows(userId, nowMs))
    this.#directory.closeUser(userId)
    return deleted
  }

  deleteAccount(userId: number): boolean {
    const nowMs = this.#clock.nowMs()
    const isDeleted = this.#inTransaction(() => {
      const isAllowed = this.#flows.run(mayLeave(userId, nowMs))
      return isAllowed && this.#deleteUserRows(userId, nowMs) !== undefined
    })
    if (isDeleted) this.#directory.closeUser(userId)
    return isDeleted
  }

  createSensor(
    userId: number,
    serialNumber: string,
    alias: string | undefined,
  ): Sensor | 'taken' | 'quota' {
    if (this.#directory.find(userId, serialNumber) !== undefined) return 'taken'
    if (this.#directory.count(userId) >= this.#sensorsPerUserMax) return 'quota'
    const id = this.#directory.takeId()
    const key = serialNumberKey(serialNumber)
    const nowMs = this.#clock.nowMs()
    this.#inTransaction(() => {
      const row = [id, userId, serialNumber, key, alias ?? serialNumber, nowMs, nowMs]
      this.#db.prepare(INSERT_SENSOR).run(...row, this.#nextSeq())
      this.#db.prepare(INSERT_INFO).run(nowMs, id)
    })
    this.#directory.forgetAll()
    const sensor = this.#flows.run(SENSOR_READS.findSensor(userId, id))
    if (sensor === undefined) throw new Error(`BUG: sensor ${id} is not there after its creation`)
    return sensor
  }

  changeSensor(userId: number, sensorId: number, change: SensorChange): Sensor | undefined {
    const { alias = null, compensationCelsius = null } = change
    const nowMs = this.#clock.nowMs()
    this.#inTransaction(() => {
      const values = { alias, compensation: compensationCelsius, nowMs, sensorId, userId }
      const row = { ...values, seq: this.#nextSeq() }
      const { changes } = this.#db.prepare(CHANGE_SENSOR).run(row)
      if (changes > 0) this.#db.prepare(INSERT_INFO).run(nowMs, sensorId)
    })
    return this.#flows.run(SENSOR_READS.findSensor(userId, sensorId))
  }

  deleteSensor(userId: number, sensorId: number): boolean {
    const nowMs = this.#clock.nowMs()
    const wasThere = this.#inTransaction(() => {
      const isDeleted = this.#deleteSensorRows(userId, nowMs, sensorId) > 0
      // The row that cursors are compared with.
      if (isDeleted) this.#db.prepare(INSERT_EMPTY_ROW).run(nowMs)
      return isDeleted
    })
    if (wasThere) this.#directory.forgetAll()
    return wasThere
  }

  noteDeletionPass(sensorId: number, dueAtMs: number | undefined): void {
    if (dueAtMs === undefined) this.#db.prepare(END_DELETION).run(sensorId)
    else this.#db.prepare(NOTE_PASS).run(dueAtMs, sensorId)
  }

  /** @returns how many sensors they had, `undefined` if there is no such user */
  #deleteUserRows(userId: number, nowMs: number): number | undefined {
    const sensors = this.#deleteSensorRows(userId, nowMs)
    this.#db.prepare(WIPE_SERIAL_NUMBERS).run(userId)
    return this.#db.prepare(DELETE_USER).run(userId).changes > 0 ? sensors : undefined
  }

  /** @param sensorId `undefined`: all of the user's @returns how many were there */
  #deleteSensorRows(userId: number, nowMs: number, sensorId?: number): number {
    const of = { userId, sensorId, nowMs, seq: this.#nextSeq() }
    const deletion = this.#db.prepare(sensorId === undefined ? DELETE_ALL : DELETE_ONE)
    const deleted = deletion.pluck().all(of)
    const sensors = { ...of, ids: JSON.stringify(deleted) }
    for (const sql of [ORDER_DELETIONS, ...FORGET]) this.#db.prepare(sql).run(sensors)
    return deleted.length
  }

  /** Of the row that this transaction is about to write. */
  #nextSeq(): number {
    return (this.#db.prepare<[], number>(LAST_SEQ).pluck().get() ?? 0) + 1
  }

  #inTransaction<Result>(work: () => Result): Result {
    return this.#db.transaction(work).immediate()
  }
}
