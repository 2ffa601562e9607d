// Opens SQLite files: the one place that knows the pragmas, and checks that they took effect.
//
// Every page carries a tag, made when the page is written and checked whenever it is read: a page
// with a flipped bit cannot be read, so no part of it becomes an answer: damaged data are never
// used. The tag is that of a cipher, AEGIS, with a key that is no secret. With AES instructions,
// which every server has, it costs less than SQLite's own part of reading a page.
//
// Every file is in WAL mode. Writing connections run at synchronous=FULL: a commit that has
// returned survives a power cut. The pragma is per connection and reads back FULL right after the
// switch to WAL while NORMAL is in effect, so it is set explicitly and checked after the first
// access.

import { basename, join } from 'node:path'
import Database from 'better-sqlite3'
import type { Database as Connection } from 'better-sqlite3'
import { OtherFormat } from '../domain/errors.ts'
import { RESTORE_BACKUP } from '../domain/finding.ts'

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
/** What a DATA_DIR with an embedded store consists of. */
export const DATA_FILES = [CONTROL_FILE, LEDGER_FILE, MEASUREMENTS_FILE]
/** Its name in control.db. */
export const EMBEDDED_STORE = 'embedded'

const SYNCHRONOUS_FULL = 2

/** Known to everybody: tags reveal damage, they hide nothing. */
const PAGE_KEY = '0'.repeat(32)

/** AEGIS-128X2, as SQLite3MultipleCiphers numbers it. */
const TAG_ALGORITHM = 2

/**
 * Pages cached per connection: there are a dozen connections, and the system caches the files too.
 */
const CACHE_KIB = 2_048

/** Pages cached by a connection that rewrites what it has just read. */
const WORKING_CACHE_KIB = 6_144

/**
 * Opens a file for writing, and creates it if necessary.
 *
 * @throws OtherFormat @throws DamagedData
 */
export function openForWriting(
  file: string,
  migrations: readonly Migration[],
  pageBytes = 4_096,
): Connection {
  return openPrepared(file, (db) => {
    // Only has an effect before the first table exists.
    db.pragma(`page_size = ${pageBytes}`)
    prepare(db, file, () => {
      if (formatOf(db) === 0) apply(db, migrations)
      else refuseOtherFormat(db, file, migrations)
    })
  })
}

/**
 * Brings an existing file that has an older format into the newest, whole or not at all. Durable
 * when it returns.
 *
 * @throws DamagedData
 */
export function upgradeFile(file: string, migrations: readonly Migration[]): void {
  const db = openPrepared(file, (opened) => prepare(opened, file, () => apply(opened, migrations)))
  try {
    db.pragma('wal_checkpoint(TRUNCATE)')
  } finally {
    db.close()
  }
}

function openPrepared(file: string, makeReady: (db: Connection) => void): Connection {
  const db = openTagged(file)
  return closedUnless(db, () => orDamaged(damagedFile(basename(file)), () => makeReady(db)))
}

/** @param makeTables sees to it that the file has the tables that are wanted */
function prepare(db: Connection, file: string, makeTables: () => void): void {
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.pragma('foreign_keys = ON')
  db.pragma(`cache_size = -${CACHE_KIB}`)
  db.pragma('busy_timeout = 5000')
  db.transaction(makeTables).immediate()
  if (db.pragma('synchronous', { simple: true }) !== SYNCHRONOUS_FULL) {
    throw new Error(`BUG: ${file} is not opened at synchronous=FULL`)
  }
}

/**
 * Has the next commit begin the log anew. Somebody else must have the file open, because the last
 * connection that is closed removes the log. Waits for no reader, and for no space on the disk.
 */
export function restartLog(file: string): void {
  const db = openTagged(file)
  try {
    db.pragma('busy_timeout = 0')
    db.pragma('wal_checkpoint(RESTART)')
  } catch (error) {
    if (!isStorageFull(error)) throw error
  } finally {
    db.close()
  }
}

/** Opens an existing file for reading beside its writer. @param path of the file, in parts */
export function openForReading(...path: readonly string[]): Connection {
  const db = openTagged(join(...path), { readonly: true, fileMustExist: true })
  return closedUnless(db, () => {
    db.pragma('busy_timeout = 5000')
    db.pragma(`cache_size = -${CACHE_KIB}`)
  })
}

/** Closes a connection that failed to become ready: an open one would keep its locks. */
function closedUnless(db: Connection, makeReady: () => void): Connection {
  try {
    makeReady()
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** Opens a file whose pages carry tags. */
export function openTagged(file: string, options: Database.Options = {}): Connection {
  const db = new Database(file, options)
  db.pragma(`cipher = 'aegis'`)
  db.pragma(`algorithm = ${TAG_ALGORITHM}`)
  db.pragma(`key = 'raw:${PAGE_KEY}'`)
  return db
}

/** Runs work in one view of a file, which is faster than one view per read. */
export type InOneView = <Result>(work: () => Result) => Result

export function inOneViewOf(db: Connection): InOneView {
  const begin = db.prepare('BEGIN')
  // Nothing was changed, and a commit would fail if a damaged page was met.
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

/** Lets the connection cache all pages that a transaction of megabytes touches. */
export function keepWorkingPages(db: Connection): void {
  db.pragma(`cache_size = -${WORKING_CACHE_KIB}`)
}

/** What SQLite calls an error, such as `SQLITE_BUSY`; empty for one that is not SQLite's. */
export function codeOf(error: unknown): string {
  return error instanceof Database.SqliteError ? error.code : ''
}

/** Whether SQLite found the disk full: the transaction has been rolled back whole. */
export function isStorageFull(error: unknown): boolean {
  return codeOf(error) === 'SQLITE_FULL'
}

/** What a check finds; `undefined` where an older format has other tables than it asks of. */
export function unlessOtherTables<Result>(
  isOlder: boolean,
  check: () => Result,
): Result | undefined {
  try {
    return check()
  } catch (error) {
    if (isOlder && codeOf(error) === 'SQLITE_ERROR') return undefined
    throw error
  }
}

/** Whether the disk or its contents are at fault: what was being written may be there or not. */
export function isDiskFault(error: unknown): error is Error {
  return codeOf(error).startsWith('SQLITE_IOERR') || isDamage(error)
}

/** Where nothing leads from a format to that of this version. */
export const USE_OTHER_VERSION =
  'use the version that wrote it, or export with that one and import here, or restore a backup ' +
  'made by this one'

/** @throws OtherFormat if a file with data does not have the format of this version */
export function refuseOtherFormat(
  db: Connection,
  file: string,
  migrations: readonly Migration[],
): void {
  const found = formatOf(db)
  const newest = newestOf(migrations)
  if (found === newest) return
  const remedy = isOlderFormat(found, migrations)
    ? '`thermolog serve` brings it up to date'
    : USE_OTHER_VERSION
  throw new OtherFormat(
    `${file} has schema version ${found}, this version of Thermolog knows ${newest}: ${remedy}`,
  )
}

/** Whether there are migrations from it to the newest. */
export function isOlderFormat(found: number, migrations: readonly Migration[]): boolean {
  return found >= (migrations[0]?.version ?? 0) && found < newestOf(migrations)
}

export function newestOf(migrations: readonly Migration[]): number {
  return migrations.at(-1)?.version ?? 0
}

/** 0 if the file is empty. */
export function formatOf(db: Connection): number {
  return Number(db.pragma('user_version', { simple: true }))
}

function apply(db: Connection, migrations: readonly Migration[]): void {
  const found = formatOf(db)
  for (const { version, sql } of migrations) {
    if (version <= found) continue
    db.exec(sql)
    db.pragma(`user_version = ${version}`)
  }
}

/** Stored data that cannot be read because a page is not as it was written. */
export class DamagedData extends Error {
  /** @param problem what is damaged, in words for an operator */
  constructor(problem: string, options?: ErrorOptions) {
    super(problem, options)
    this.name = 'DamagedData'
  }
}

/** Whether SQLite met a page that is not as it was written. */
export function isDamage(error: unknown): error is Error {
  return /^SQLITE_(CORRUPT|NOTADB)/.test(codeOf(error))
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
  db: Connection,
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
