// DATA_DIR as a process's own: nobody else writes there, and the data are whole and not elsewhere.

import { lockDataDir, refuseUnfinishedRestore } from '../sqlite/data-dir-lock.ts'
import type { DataDirLock } from '../sqlite/data-dir-lock.ts'
import { refuseMoved } from '../system/data-dir.ts'

/** @throws DataDirInUse @throws UnfitDataDir @throws Error if a restore was not finished */
export async function ownDataDir(dataDir: string): Promise<DataDirLock> {
  const lock = lockDataDir(dataDir)
  try {
    refuseUnfinishedRestore(dataDir)
    await refuseMoved(dataDir)
    return lock
  } catch (error) {
    lock.release()
    throw error
  }
}
