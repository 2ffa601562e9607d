// Stored data that cannot be read because a page is not as it was written: a bit has flipped on the
// disk or on the way. Damaged data are never used.

import Database from 'better-sqlite3'
import { RESTORE_BACKUP } from '../domain/finding.ts'

export class DamagedData extends Error {
  /** @param problem what is damaged, in words for an operator */
  constructor(problem: string, options?: ErrorOptions) {
    super(problem, options)
    this.name = 'DamagedData'
  }
}

/** Whether SQLite met a page that is not as it was written. */
export function isDamage(error: unknown): error is Error {
  return error instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code)
}

/**
 * Runs `work` and returns its result.
 *
 * @param problem says that what `work` reads is damaged
 * @throws DamagedData if it met a damaged page
 */
export function orDamaged<Result>(problem: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    throw isDamage(error) ? new DamagedData(problem, { cause: error }) : error
  }
}

/** The result of `work`; `undefined` if it met damage. */
export function ifWhole<Result>(work: () => Result): Result | undefined {
  try {
    return work()
  } catch (error) {
    if (error instanceof DamagedData) return undefined
    throw error
  }
}

/**
 * Reads what nothing can do without: if it were missing, the service would end again and again.
 *
 * @param tables the tables to read; default: all
 * @throws DamagedData
 */
export function refuseDamaged(
  db: Database.Database,
  file: string,
  tables: readonly (string | number)[] = [1],
): void {
  const check = (table: string | number) =>
    db.prepare<[], string>(`PRAGMA quick_check(${table})`).pluck().get()
  for (const table of tables) {
    const found = orDamaged(damagedFile(file), () => check(table))
    if (found !== 'ok') throw new DamagedData(damagedFile(file), { cause: found })
  }
}

export function damagedSeries(file: string, sensorId: number): string {
  return `what ${file} has of sensor ${sensorId} is damaged`
}

export function damagedFile(file: string): string {
  return `${file} is damaged. ${RESTORE_BACKUP}`
}
