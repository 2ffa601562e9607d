// DATA_DIR for a move: this process's own, everything accepted in the embedded store, everything
// deleted gone.

import { setTimeout } from 'node:timers/promises'
import { UnfitSettings } from '../config.ts'
import type { Config } from '../config.ts'
import type { Core } from '../core/open-core.ts'
import { failed } from '../operations/failure.ts'
import type { StoreRecords } from '../ports/store-upkeep.ts'
import type { WorkProgress } from '../ports/system.ts'
import { EMBEDDED_STORE } from '../sqlite/database.ts'
import { openBeside } from './open-beside.ts'
import { openOwn } from './open-own.ts'

const LOOK_EVERY_MS = 50

/** The store that has the measurements. */
export async function readStoreInUse(store: StoreRecords): Promise<string> {
  return (await store.readStoreName()) ?? EMBEDDED_STORE
}

/**
 * @throws UnfitSettings if the measurements are not in the embedded store
 * @throws OperationError if the journal cannot be emptied @throws DataDirInUse
 */
export async function openDrained(config: Config, progress: WorkProgress): Promise<Core> {
  await refuseInflux(config.dataDir)
  const core = await openOwn({ ...config, database: undefined, influx: undefined })
  try {
    await drain(core, progress)
    return core
  } catch (error) {
    await core.close()
    throw error
  }
}

async function refuseInflux(dataDir: string): Promise<void> {
  const { store, close } = openBeside(dataDir)
  try {
    const inUse = await readStoreInUse(store)
    if (inUse === EMBEDDED_STORE) return
    throw new UnfitSettings(
      `DATA_DIR keeps its measurements in ${inUse}: only an embedded store can be moved`,
    )
  } finally {
    close()
  }
}

async function drain(
  { progress: stored, control, isStoreWorking }: Core,
  progress: WorkProgress,
): Promise<void> {
  const left = async () => stored.backlog().entries + (await control.countSensorDeletions())
  let entries = await left()
  progress.begin('emptying the journal', entries, 'measurement')
  while (entries > 0) {
    if (!isStoreWorking()) {
      throw failed('writes from the journal into the embedded store fail', 'Is the disk full?')
    }
    await setTimeout(LOOK_EVERY_MS)
    const before = entries
    entries = await left()
    progress.advance(before - entries)
  }
}
