// One process at a time owns a data directory. The lock is an exclusive lock of SQLite on a file
// of its own: the kernel gives it back when the process ends, however it ends.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'

/** The data directory is in use by another process. */
class DataDirInUse extends Error {
  constructor(dataDir: string) {
    super(`${dataDir} is in use by another Thermolog process`)
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
  const db = new Database(join(dataDir, 'lock.db'))
  try {
    db.pragma('busy_timeout = 0')
    db.pragma('locking_mode = EXCLUSIVE')
    db.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    db.close()
    const isHeld = error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')
    throw isHeld ? new DataDirInUse(dataDir) : error
  }
  return { release: () => db.close() }
}
