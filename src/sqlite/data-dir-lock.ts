// Ensures that only one process at a time owns a data directory. The lock is SQLite's exclusive
// lock on a file of its own, so the kernel releases it when the process ends, however it ends.
//
// If somebody deleted that file, a second process could lock a new file of the same name. So if it
// is missing beside data, nobody may have control.db open, which the owner always has.
//
// An owner that commands cannot reach leaves a note saying why, for commands that find the lock
// taken.

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { DataDirInUse } from '../domain/errors.ts'
import { codeOf, CONTROL_FILE, openTagged } from './database.ts'

const LOCK_FILE = 'lock.db'
const NO_SOCKET_FILE = 'no-socket'

export interface DataDirLock {
  release(): void
}

/** Exists in DATA_DIR while a backup is being restored into it. */
export const RESTORE_FOLDER = 'restoring'

/** @throws Error if a restore into the directory was begun and not finished */
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
  const lock = lockFile(join(dataDir, LOCK_FILE), () => inUse(dataDir))
  forgetNoSocket(dataDir)
  return {
    release: () => {
      forgetNoSocket(dataDir)
      lock.release()
    },
  }
}

/**
 * Creates the file if necessary, and locks it for as long as this process lives.
 *
 * @param whenTaken the error to throw if another process has the lock
 */
export function lockFile(file: string, whenTaken: () => Error): DataDirLock {
  const db = new Database(file)
  try {
    db.pragma('busy_timeout = 0')
    db.pragma('locking_mode = EXCLUSIVE')
    // Nothing is ever written: the lock must also be available on a full disk.
    db.pragma('journal_mode = MEMORY')
    db.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    db.close()
    if (isBusy(error)) throw whenTaken()
    throw new Error(`${file} cannot be locked: ${(error as Error).message}`, { cause: error })
  }
  return { release: () => db.close() }
}

/** Tells commands that find DATA_DIR locked why they cannot reach the owner, which calls this. */
export function noteNoSocket(dataDir: string, reason: string): void {
  writeFileSync(join(dataDir, NO_SOCKET_FILE), reason)
}

function forgetNoSocket(dataDir: string): void {
  rmSync(join(dataDir, NO_SOCKET_FILE), { force: true })
}

function inUse(dataDir: string): DataDirInUse {
  const note = join(dataDir, NO_SOCKET_FILE)
  if (!existsSync(note))
    return new DataDirInUse(`${dataDir} is in use by another Thermolog process`, true)
  const reason = readFileSync(note, 'utf8')
  return new DataDirInUse(
    `${dataDir} is in use by a service that commands cannot reach, ` +
      `for it could make no socket there: ${reason}. Stop it for this command; ` +
      'backup and verify work beside it',
    false,
  )
}

/** @throws DataDirInUse if the lock's file is missing and the data are open somewhere */
function refuseLostLock(dataDir: string): void {
  const control = join(dataDir, CONTROL_FILE)
  if (existsSync(join(dataDir, LOCK_FILE)) || !existsSync(control)) return
  const db = openTagged(control)
  try {
    db.pragma('busy_timeout = 0')
    // Its first read locks the file exclusively.
    db.pragma('locking_mode = EXCLUSIVE')
    db.pragma('user_version')
  } catch (error) {
    // Other errors are reported by whoever opens the file.
    if (!isBusy(error)) return
    throw new DataDirInUse(
      `${dataDir} is in use by another process, though its ${LOCK_FILE} is missing: ` +
        'stop whatever has it open',
      false,
    )
  } finally {
    db.close()
  }
}

function isBusy(error: unknown): boolean {
  return codeOf(error).startsWith('SQLITE_BUSY')
}
