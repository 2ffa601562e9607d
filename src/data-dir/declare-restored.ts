// For data that were put back by hand, of which nothing tells: the files of a DATA_DIR, or a
// database whose server is the same as before. They become what `restore` makes of a backup.

import type { Config } from '../config.ts'
import { readIdsInStore } from '../core/measurement-store.ts'
import { ownDataDir } from '../core/own-data-dir.ts'
import { declareRestored as declareDatabaseRestored } from '../postgres/server/restore.ts'
import { prepareRestored, readCopied } from '../sqlite/backup/restored-control.ts'
import { clearWitness } from '../sqlite/log/witness.ts'
import { refuseOtherLosses } from '../sqlite/verify/files-at-rest.ts'
import { systemClock } from '../system/clock.ts'
import { refuseOlderFormat } from './upgrade.ts'

/**
 * @throws Error if a service runs on the DATA_DIR
 * @throws UnfitSettings, ServiceError when the ids in InfluxDB are not known
 */
export async function declareRestored(config: Config): Promise<void> {
  const { database } = config
  if (database === undefined) return declareFilesRestored(config)
  await declareDatabaseRestored(database.url)
}

async function declareFilesRestored(config: Config): Promise<void> {
  const { dataDir } = config
  const lock = await ownDataDir(dataDir)
  try {
    refuseOlderFormat(dataDir)
    refuseOtherLosses(dataDir)
    const { storeName, newestAcceptedMs: restoredToMs } = readCopied(dataDir)
    const idsInStore = await readIdsInStore(config, storeName)
    const nowMs = systemClock.nowMs()
    prepareRestored(dataDir, { nowMs, restoredToMs, isRevoking: false, idsInStore })
    // Last: whoever is killed before it finds the same loss again.
    clearWitness(dataDir)
  } finally {
    lock.release()
  }
}
