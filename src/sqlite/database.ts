// Opening SQLite files: one place that knows the pragmas and checks that they hold.
//
// Every page carries a tag, which is made when the page is written and checked whenever it is read:
// a page with a flipped bit cannot be read, and nothing of it becomes an answer. The tag is that of
// a cipher, AEGIS, of which the key is no secret. With instructions for AES, as every server has
// them, it costs less than SQLite's own part of reading a page.
//
// Every file is in WAL mode. A writing connection runs at synchronous=FULL: a commit that returned
// survives a power cut. The pragma is per connection, and reads back FULL right after the switch to
// WAL while NORMAL is in force, so it is set explicitly and checked after the first access.

import { basename } from 'node:path'
import Database from 'better-sqlite3'
import type { Database as Connection } from 'better-sqlite3'
import { damagedFile, isDamage, orDamaged } from './damaged-data.ts'

export type { Connection }

/** One step of a schema: applied once, in order, never edited after it has been released. */
export interface Migration {
  readonly version: number
  readonly sql: string
}

/** Users, access tokens, sensors and the journal. */
export const CONTROL_FILE = 'control.db'
/** The sealed part of the event ledger. */
export const LEDGER_FILE = 'ledger.db'
/** The embedded measurement store. */
export const MEASUREMENTS_FILE = 'measurements.db'
/** What it is called in control.db. */
export const EMBEDDED_STORE = 'embedded'

const SYNCHRONOUS_FULL = 2

/** Known to everybody: tags find damage, they keep nothing secret. */
const PAGE_KEY = '0'.repeat(32)

/** AEGIS-128X2, as SQLite3MultipleCiphers numbers it. */
const TAG_ALGORITHM = 2

/** Pages that a connection keeps: there are a dozen, and the system has the files as well. */
const CACHE_KIB = 2_048

/** Pages that a connection keeps that writes again what it has just read. */
const WORKING_CACHE_KIB = 6_144

/**
 * Opens a file for writing, creates it when missing, and brings its schema up to date.
 *
 * @throws Error when it has a format of another version of the service
 * @throws DamagedData
 */
export function openForWriting(
  file: string,
  migrations: readonly Migration[],
  pageBytes = 4_096,
): Connection {
  const db = openTagged(file)
  const prepareWhole = () => prepare(db, file, migrations, pageBytes)
  return closedUnless(db, () => orDamaged(damagedFile(basename(file)), prepareWhole))
}

function prepare(
  db: Connection,
  file: string,
  migrations: readonly Migration[],
  pageBytes: number,
): void {
  // Takes effect only before the first table is there.
  db.pragma(`page_size = ${pageBytes}`)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.pragma('foreign_keys = ON')
  db.pragma(`cache_size = -${CACHE_KIB}`)
  db.pragma('busy_timeout = 5000')
  migrate(db, file, migrations)
  if (db.pragma('synchronous', { simple: true }) !== SYNCHRONOUS_FULL) {
    throw new Error(`BUG: ${file} is not opened at synchronous=FULL`)
  }
}

/** Opens an existing file for reading beside its writer. */
export function openForReading(file: string): Connection {
  const db = openTagged(file, { readonly: true, fileMustExist: true })
  return closedUnless(db, () => {
    db.pragma('busy_timeout = 5000')
    db.pragma(`cache_size = -${CACHE_KIB}`)
  })
}

/** Closes a connection that cannot be made ready: what is open keeps its locks. */
function closedUnless(db: Connection, makeReady: () => void): Connection {
  try {
    makeReady()
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** Opens a file of which the pages carry tags. */
export function openTagged(file: string, options: Database.Options = {}): Connection {
  const db = new Database(file, options)
  db.pragma(`cipher = 'aegis'`)
  db.pragma(`algorithm = ${TAG_ALGORITHM}`)
  db.pragma(`key = 'raw:${PAGE_KEY}'`)
  return db
}

/** Does work in one view of a file: many reads take less time than in one each. */
export type InOneView = <Result>(work: () => Result) => Result

export function inOneViewOf(db: Connection): InOneView {
  const begin = db.prepare('BEGIN')
  // It has changed nothing, and a commit fails once a damaged page was met.
  const end = db.prepare('ROLLBACK')
  return (work) => {
    begin.run()
    try {
      return work()
    } finally {
      if (db.inTransaction) end.run()
    }
  }
}

/** Has the connection keep more pages from now on: all that a transaction of megabytes touches. */
export function keepWorkingPages(db: Connection): void {
  db.pragma(`cache_size = -${WORKING_CACHE_KIB}`)
}

/** Whether SQLite found the disk full: the transaction is rolled back whole. */
export function isStorageFull(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code === 'SQLITE_FULL'
}

/** Whether the disk, or what is on it, is at fault: what was being written may be there or not. */
export function isDiskFault(error: unknown): error is Error {
  const isIoError = error instanceof Database.SqliteError && error.code.startsWith('SQLITE_IOERR')
  return isIoError || isDamage(error)
}

/** @throws Error when a file, which has data, has a format that is not known */
export function refuseOtherFormat(
  db: Connection,
  file: string,
  migrations: readonly Migration[],
): void {
  const found = formatOf(db)
  const [oldest = 0, newest = 0] = [migrations.at(0)?.version, migrations.at(-1)?.version]
  if (found >= oldest && found <= newest) return
  throw new Error(
    `${file} has schema version ${found}, this version of Thermolog knows ${newest}: ` +
      'use the version that wrote it, or restore a backup made by this one',
  )
}

/** 0 when there is nothing in the file. */
export function formatOf(db: Connection): number {
  return Number(db.pragma('user_version', { simple: true }))
}

function migrate(db: Connection, file: string, migrations: readonly Migration[]): void {
  db.transaction(() => {
    const found = formatOf(db)
    if (found > 0) refuseOtherFormat(db, file, migrations)
    for (const migration of migrations) {
      if (migration.version <= found) continue
      db.exec(migration.sql)
      db.pragma(`user_version = ${migration.version}`)
    }
  }).immediate()
}
