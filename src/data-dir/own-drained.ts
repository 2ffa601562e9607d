// DATA_DIR for a move: locked, everything accepted in the embedded store and in the ledger.

import { UnfitSettings } from '../config.ts'
import type { Config } from '../config.ts'
import { failed } from '../operations/operations.ts'
import type { WorkProgress } from '../ports/system.ts'
import { EMBEDDED_STORE } from '../sqlite/database.ts'
import { lockDataDir } from '../sqlite/data-dir-lock.ts'
import type { DataDirLock } from '../sqlite/data-dir-lock.ts'
import { clearWitness } from '../sqlite/log/witness.ts'
import { isDrained, sealJournal } from '../sqlite/move/seal-journal.ts'
import { drain } from './drain.ts'
import { openBeside } from './open-beside.ts'
import { openOwn } from './open-own.ts'

/** Another process may take the directory between emptying and locking it. */
const ROUNDS_MAX = 3

/**
 * @throws UnfitSettings if the measurements are in InfluxDB
 * @throws OperationError if the journal cannot be emptied
 */
export async function ownDrained(config: Config, progress: WorkProgress): Promise<DataDirLock> {
  const { dataDir } = config
  await refuseInflux(dataDir)
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const core = await openOwn({ ...config, influx: undefined })
    try {
      await drain(core, progress)
    } finally {
      await core.close()
    }
    const lock = lockDataDir(dataDir)
    try {
      if (isDrained(dataDir)) {
        // Sealing closes the files, whose logs go with that.
        clearWitness(dataDir)
        sealJournal(dataDir)
        return lock
      }
    } catch (error) {
      lock.release()
      throw error
    }
    lock.release()
  }
  const hint = 'Stop the service until the move is over.'
  throw failed(`${dataDir} is in use by another process`, hint)
}

async function refuseInflux(dataDir: string): Promise<void> {
  const { store, close } = openBeside(dataDir)
  try {
    const inUse = (await store.readStoreName()) ?? EMBEDDED_STORE
    if (inUse === EMBEDDED_STORE) return
    throw new UnfitSettings(
      `DATA_DIR keeps its measurements in ${inUse}: only an embedded store can be moved`,
    )
  } finally {
    close()
  }
}
