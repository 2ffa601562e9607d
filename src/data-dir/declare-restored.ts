// For data that were put back by hand, of which nothing tells: the files of a DATA_DIR, or a
// database whose server is the same as before. They become what `restore` makes of a backup.

import { join } from 'node:path'
import type { Config } from '../config.ts'
import { readIdsInStore } from '../core/measurement-store.ts'
import { ACCEPT_LOSS, describeFinding } from '../domain/finding.ts'
import { declareRestored as declareDatabaseRestored } from '../postgres/server/renewal.ts'
import { readFormats } from '../sqlite/backup/file-formats.ts'
import { prepareRestored, readCopied } from '../sqlite/backup/restored-control.ts'
import { lockDataDir, refuseUnfinishedRestore } from '../sqlite/data-dir-lock.ts'
import { CONTROL_FILE, DamagedData } from '../sqlite/database.ts'
import { clearWitness } from '../sqlite/log/witness.ts'
import { checkFile } from '../sqlite/verify/file-check.ts'
import { FilesAtRest } from '../sqlite/verify/files-at-rest.ts'
import { systemClock } from '../system/clock.ts'
import { refuseMoved, UnfitDataDir } from '../system/data-dir.ts'

/**
 * @throws Error if a service runs on the DATA_DIR
 * @throws UnfitSettings, ServiceError when the ids in InfluxDB are not known
 */
export async function declareRestored(config: Config): Promise<void> {
  const { database } = config
  if (database === undefined) return declareFilesRestored(config)
  await declareDatabaseRestored(database.url, (store) => readIdsInStore(config, store))
}

/**
 * What control.db has lost can be given up, for from here on the others have more than it knows of.
 *
 * @throws DamagedData if one of them has lost something, or knows events that it does not, or if
 *   what is left of control.db is not whole
 */
function refuseOtherLosses(dataDir: string): void {
  const files = new FilesAtRest(dataDir)
  files.close()
  const all = [...files.findings]
  // Pages that the log had moved into the file fit no more to those that are left of the log.
  checkFile(join(dataDir, CONTROL_FILE), (finding) => all.push(finding))
  const fatal = all.find(({ remedy }) => remedy !== ACCEPT_LOSS)
  if (fatal !== undefined) throw new DamagedData(describeFinding(fatal))
}

/** An upgrade would come first, and give out ids of the time before. */
function refuseOlderFormat(dataDir: string): void {
  if (!readFormats(dataDir).some(({ isOlder }) => isOlder)) return
  const problem = 'its files have the format of an older version of Thermolog'
  const remedy = 'run this command with that version, before the newer one starts'
  throw new UnfitDataDir(dataDir, `${problem}: ${remedy}`)
}

async function declareFilesRestored(config: Config): Promise<void> {
  const { dataDir } = config
  const lock = lockDataDir(dataDir)
  try {
    refuseUnfinishedRestore(dataDir)
    await refuseMoved(dataDir)
    refuseOlderFormat(dataDir)
    refuseOtherLosses(dataDir)
    const control = join(dataDir, CONTROL_FILE)
    const { storeName, newestAcceptedMs: restoredToMs } = readCopied(control)
    const idsInStore = await readIdsInStore(config, storeName)
    const nowMs = systemClock.nowMs()
    prepareRestored(control, { nowMs, restoredToMs, isRevoking: false, idsInStore })
    // Last: whoever is killed before it finds the same loss again.
    clearWitness(dataDir)
  } finally {
    lock.release()
  }
}
