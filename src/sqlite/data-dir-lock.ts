// One process at a time owns a data directory. The lock is an exclusive lock of SQLite on a file
// of its own: the kernel gives it back when the process ends, however it ends.
//
// Who deletes that file and starts a second process would get a lock on another file of its name.
// So where it is missing beside data, nobody at all may have control.db open, which the owner has
// as long as it lives.
//
// An owner that commands cannot reach leaves a note why: they find the lock taken, and read it.

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { CONTROL_FILE, openTagged } from './database.ts'

const LOCK_FILE = 'lock.db'
const NO_SOCKET_FILE = 'no-socket'

/** The data directory is in use by another process. */
class DataDirInUse extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'DataDirInUse'
  }
}

export interface DataDirLock {
  release(): void
}

/** In DATA_DIR as long as a backup is being restored into it. */
export const RESTORE_FOLDER = 'restoring'

/** @throws Error when a restore has begun in the directory and has not come to its end */
export function refuseUnfinishedRestore(dataDir: string): void {
  if (!existsSync(join(dataDir, RESTORE_FOLDER))) return
  throw new Error(
    `a restore into ${dataDir} did not come to its end: ` +
      'delete what is in it and run `thermolog restore` again',
  )
}

/** @throws DataDirInUse */
export function lockDataDir(dataDir: string): DataDirLock {
  refuseLostLock(dataDir)
  const db = new Database(join(dataDir, LOCK_FILE))
  try {
    db.pragma('busy_timeout = 0')
    db.pragma('locking_mode = EXCLUSIVE')
    // Nothing is ever written: a lock must be had on a full disk too.
    db.pragma('journal_mode = MEMORY')
    db.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    db.close()
    throw isBusy(error) ? inUse(dataDir) : error
  }
  forgetNoSocket(dataDir)
  return {
    release: () => {
      forgetNoSocket(dataDir)
      db.close()
    },
  }
}

/** Tells commands that find DATA_DIR locked why they cannot reach its owner, who calls this. */
export function noteNoSocket(dataDir: string, reason: string): void {
  writeFileSync(join(dataDir, NO_SOCKET_FILE), reason)
}

function forgetNoSocket(dataDir: string): void {
  rmSync(join(dataDir, NO_SOCKET_FILE), { force: true })
}

function inUse(dataDir: string): DataDirInUse {
  const note = join(dataDir, NO_SOCKET_FILE)
  if (!existsSync(note))
    return new DataDirInUse(`${dataDir} is in use by another Thermolog process`)
  const reason = readFileSync(note, 'utf8')
  return new DataDirInUse(
    `${dataDir} is in use by a service that commands cannot reach, ` +
      `for it could make no socket there: ${reason}. Stop it for this command; ` +
      'backup and verify work beside it',
  )
}

/** @throws DataDirInUse when the lock's file is missing and the data are open somewhere */
function refuseLostLock(dataDir: string): void {
  const control = join(dataDir, CONTROL_FILE)
  if (existsSync(join(dataDir, LOCK_FILE)) || !existsSync(control)) return
  const db = openTagged(control)
  try {
    db.pragma('busy_timeout = 0')
    // Its first look wants the file for itself.
    db.pragma('locking_mode = EXCLUSIVE')
    db.pragma('user_version')
  } catch (error) {
    // Anything else is for whoever opens it to say.
    if (!isBusy(error)) return
    throw new DataDirInUse(
      `${dataDir} is in use by another process, though its ${LOCK_FILE} is missing: ` +
        'stop whatever has it open',
    )
  } finally {
    db.close()
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')
}
