// Deletes everything stored of a sensor, a bounded number of rows at a time.
//
// A sensor may have a hundred million rows. Deleting them in one transaction would make a log of
// gigabytes and block every other write, so each step deletes the oldest remaining rows in its own
// transaction. A crash loses nothing: the deletion always starts with the oldest row.

import type { Connection } from '../database.ts'
import { SUMMARY_TABLES } from './schema.ts'

/** About two megabytes of pages. */
const ROWS_MAX = 50_000

/** Deletes the oldest rows of a sensor in one table. @returns whether there are more */
export type DeleteSomeRows = (sensorId: number) => boolean

/** One deletion for each table with rows of sensors. */
export function createSensorDeletions(db: Connection): readonly DeleteSomeRows[] {
  return [
    createDeletion(db, 'measurements', 'measured_at_ms, tie_break_ns'),
    ...SUMMARY_TABLES.map((table) => createDeletion(db, table, 'start_ms')),
  ]
}

function createDeletion(db: Connection, table: string, key: string): DeleteSomeRows {
  const findKept = db
    .prepare<[number], number[]>(
      `SELECT ${key} FROM ${table} WHERE sensor_id = ? ORDER BY ${key} LIMIT 1 OFFSET ${ROWS_MAX}`,
    )
    .raw()
  const marks = key.replace(/\w+/g, '?')
  const deleteBefore = db.prepare(
    `DELETE FROM ${table} WHERE sensor_id = ? AND (${key}) < (${marks})`,
  )
  const deleteAll = db.prepare(`DELETE FROM ${table} WHERE sensor_id = ?`)
  const deleteSome = db.transaction((sensorId: number) => {
    const firstKept = findKept.get(sensorId)
    if (firstKept === undefined) deleteAll.run(sensorId)
    else deleteBefore.run(sensorId, ...firstKept)
    return firstKept !== undefined
  })
  return (sensorId) => deleteSome.immediate(sensorId)
}
