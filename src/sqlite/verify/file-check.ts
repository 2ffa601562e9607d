// Checks that the pages of a SQLite file form complete tables. It goes table by table, because the
// file's log cannot be emptied while a transaction is open.

import { basename } from 'node:path'
import { RESTORE_BACKUP } from '../../domain/finding.ts'
import type { Report } from '../../domain/finding.ts'
import { formatOf, isDiskFault, openForReading } from '../database.ts'
import { refuseOtherVersion } from '../backup/file-formats.ts'

const TABLES = `SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`
const FAULTS_MAX = 10

/**
 * @returns whether the existing file is whole
 * @throws Error when it has a format of another version
 */
export function checkFile(file: string, report: Report): boolean {
  const faults = faultsOf(file)
  for (const fault of faults.slice(0, FAULTS_MAX)) {
    const problem = `the file is damaged: ${fault}`
    report({ check: 'file', where: basename(file), problem, remedy: RESTORE_BACKUP })
  }
  return faults.length === 0
}

function faultsOf(file: string): string[] {
  try {
    const db = openForReading(file)
    try {
      if (formatOf(db) === 0) return ['there are no tables in it']
      refuseOtherVersion(db, basename(file))
      const tables = db.prepare<[], string>(TABLES).pluck().all()
      return tables.flatMap((table) => {
        const check = db.prepare<[], string>(`PRAGMA quick_check('${table}')`).pluck()
        const faults = check.all().filter((text) => text !== 'ok')
        return faults.map((fault) => `${table}: ${fault}`)
      })
    } finally {
      db.close()
    }
  } catch (error) {
    if (!isDiskFault(error)) throw error
    return [error.message]
  }
}
