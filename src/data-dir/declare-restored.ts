// For data that were put back by hand, of which nothing tells: the files of a DATA_DIR, or a
// database whose server is the same as before. They become what `restore` makes of a backup.

import { join } from 'node:path'
import type { Config } from '../config.ts'
import { declareRestored as declareDatabaseRestored } from '../postgres/takeover.ts'
import { prepareRestored, readNewestAcceptedMs } from '../sqlite/backup/restored-control.ts'
import { lockDataDir, refuseUnfinishedRestore } from '../sqlite/data-dir-lock.ts'
import { CONTROL_FILE } from '../sqlite/database.ts'
import { systemClock } from '../system/clock.ts'
import { forgetMoving, refuseMoved } from '../system/moved-data-dir.ts'

/** @throws Error if a service runs on the DATA_DIR */
export async function declareRestored({ dataDir, database }: Config): Promise<void> {
  if (database !== undefined) await declareDatabaseRestored(database.url)
  else await declareFilesRestored(dataDir)
}

async function declareFilesRestored(dataDir: string): Promise<void> {
  const lock = lockDataDir(dataDir)
  try {
    refuseUnfinishedRestore(dataDir)
    await refuseMoved(dataDir)
    await forgetMoving(dataDir)
    const control = join(dataDir, CONTROL_FILE)
    const restoredToMs = readNewestAcceptedMs(control)
    prepareRestored(control, { nowMs: systemClock.nowMs(), restoredToMs, isRevoking: false })
  } finally {
    lock.release()
  }
}
