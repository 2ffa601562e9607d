// Registering, changing and deleting sensors, as it runs in the commit thread: each change in a
// transaction of its own between groups of submissions.

import { mayLeave } from '../../control/users.ts'
import { serialNumberKey } from '../../domain/sensor.ts'
import type { Sensor, SensorChange } from '../../domain/sensor.ts'
import type { Clock } from '../../ports/system.ts'
import type { SensorDirectory } from '../commit/sensor-directory.ts'
import type { Connection } from '../database.ts'
import { FlowRunner } from '../run-flow.ts'
import { deleteSensorRows, nextSeq } from './deletions.ts'
import type { UserDeletions } from './deletions.ts'
import { SENSOR_READS } from './sensor-reads.ts'

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
  settings: { readonly sensorsPerUserMax: number; readonly deletions: UserDeletions },
) {
  const { sensorsPerUserMax, deletions } = settings
  const flows = new FlowRunner(db)
  const inTransaction: InTransaction = (work) =>
    db.transaction(() => work(clock.nowMs())).immediate()
  return {
    ...userDeletions({ inTransaction, deletions, directory, flows }),
    createSensor: (
      userId: number,
      serialNumber: string,
      alias: string | undefined,
    ): Sensor | 'taken' | 'quota' => {
      if (directory.find(userId, serialNumber) !== undefined) return 'taken'
      const isFull = directory.isClosed(userId) || directory.count(userId) >= sensorsPerUserMax
      if (isFull) return 'quota'
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
        const isDeleted = deleteSensorRows(db, { userId, nowMs, ids: [sensorId] }) > 0
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

type InTransaction = <Result>(work: (nowMs: number) => Result) => Result

interface DeletionCollaborators {
  readonly inTransaction: InTransaction
  readonly deletions: UserDeletions
  readonly directory: SensorDirectory
  readonly flows: FlowRunner
}

function userDeletions({ inTransaction, deletions, directory, flows }: DeletionCollaborators) {
  const deleteUser = (userId: number, mayBegin: (nowMs: number) => boolean) => {
    const sensors = inTransaction((nowMs) =>
      mayBegin(nowMs) ? deletions.begin(userId, nowMs) : undefined,
    )
    if (sensors === undefined) return undefined
    deletions.noteBegun(userId)
    directory.closeUser(userId)
    return sensors
  }
  return {
    deleteUser: (userId: number): number | undefined => deleteUser(userId, () => true),
    deleteAccount: (userId: number): boolean | undefined => {
      let isAllowed: boolean | undefined
      const sensors = deleteUser(userId, (nowMs) => {
        isAllowed = flows.run(mayLeave(userId, nowMs))
        return isAllowed === true
      })
      return isAllowed && sensors !== undefined
    },
  }
}
