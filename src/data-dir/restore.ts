// Restoring a backup into a DATA_DIR that has no data. The work happens in a folder `restoring`
// inside it, and while that exists `serve` refuses DATA_DIR: an interrupted restore is never
// mistaken for a complete one.

import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { BackupProgress } from './backup.ts'
import { checkBackup, checkUnpacked, readBackup } from './read-backup.ts'
import type { BackupManifest } from './read-backup.ts'
import { statNamed } from './staging.ts'
import type { Config } from '../config.ts'
import { readIdsInStore } from '../core/measurement-store.ts'
import type { HighestIds } from '../domain/ids-after-restore.ts'
import { failed } from '../operations/failure.ts'
import { unpackPages } from '../sqlite/backup/packed-pages.ts'
import { prepareRestored } from '../sqlite/backup/restored-control.ts'
import { lockDataDir, RESTORE_FOLDER } from '../sqlite/data-dir-lock.ts'
import { readFileChunks } from './archive.ts'
import { systemClock } from '../system/clock.ts'
import { prepareDataDir } from '../system/data-dir.ts'
import { syncFolder } from '../system/disk.ts'

/** What an empty DATA_DIR may contain: our lock, and what comes with a new volume. */
const NO_DATA = /^(lock\.db(-\w+)?|lost\+found)$/

export interface RestoreOutcome {
  /** With what is in the files now, after an upgrade too. */
  readonly manifest: BackupManifest
  /** Tokens that are now valid. */
  readonly liveTokens: number
}

/**
 * Restores a backup into a DATA_DIR that has no data. On disk when it resolves.
 *
 * @throws OperationError when DATA_DIR has data @throws UnfitDataDir
 * @throws UnfitSettings, ServiceError when the ids in InfluxDB are not known
 * @throws Error when the backup is damaged: nothing of it stays in DATA_DIR
 */
export async function restoreBackup(
  config: Config,
  source: string,
  { isRevoking, progress }: { readonly isRevoking: boolean; readonly progress: BackupProgress },
): Promise<RestoreOutcome> {
  const { dataDir } = config
  const found = await statNamed('file', source)
  // It is read twice, so that nothing is unpacked before all of it has been checked.
  if (!found.isFile()) throw failed(`${source} is no file: store the backup in one first`)
  await prepareDataDir(dataDir)
  await refuseData(dataDir)
  const chunksFor = (what: string) => {
    progress.begin(what, found.size)
    return readFileChunks(source, (bytes) => progress.advance(bytes))
  }
  const manifest = await checkBackup(source, chunksFor('verifying'))
  const idsInStore = await readIdsInStore(config, manifest.store)
  const lock = lockDataDir(dataDir)
  try {
    await refuseData(dataDir)
    const folder = join(dataDir, RESTORE_FOLDER)
    await mkdir(folder, { mode: 0o700 })
    await syncFolder(dataDir)
    const restoring = { source, chunksFor, manifest, folder, isRevoking, idsInStore }
    const outcome = await restoreFiles(restoring)
    await moveIntoPlace(dataDir, manifest)
    return outcome
  } finally {
    lock.release()
  }
}

interface Restoring {
  readonly source: string
  readonly chunksFor: (what: string) => AsyncIterable<Buffer>
  readonly manifest: BackupManifest
  /** Inside DATA_DIR. */
  readonly folder: string
  readonly isRevoking: boolean
  readonly idsInStore: HighestIds
}

/** Restores into the folder, which is removed on failure. */
async function restoreFiles(restoring: Restoring): Promise<RestoreOutcome> {
  const { source, manifest, folder, isRevoking, idsInStore } = restoring
  try {
    const files = await extractFiles(restoring)
    const nowMs = systemClock.nowMs()
    const liveTokens = prepareRestored(folder, {
      nowMs,
      restoredToMs: Date.parse(manifest.taken_at),
      isRevoking,
      idsInStore,
    })
    return { manifest: { ...manifest, files }, liveTokens }
  } catch (error) {
    await rm(folder, { recursive: true })
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`${source} cannot be restored: ${reason}`, { cause: error })
  }
}

/** @returns what is in each */
async function extractFiles({ source, chunksFor, manifest, folder }: Restoring) {
  await readBackup(source, chunksFor('restoring'), (file) =>
    unpackPages(file.name, file, join(folder, file.name)),
  )
  return checkUnpacked(folder, manifest)
}

async function moveIntoPlace(dataDir: string, { files }: BackupManifest): Promise<void> {
  const folder = join(dataDir, RESTORE_FOLDER)
  await syncFolder(folder)
  for (const name of Object.keys(files)) await rename(join(folder, name), join(dataDir, name))
  await syncFolder(dataDir)
  // Until here `serve` refuses the directory.
  await rm(folder, { recursive: true })
  await syncFolder(dataDir)
}

async function refuseData(dataDir: string): Promise<void> {
  const found = (await readdir(dataDir)).filter((name) => !NO_DATA.test(name))
  if (found.length === 0) return
  const hint = found.includes(RESTORE_FOLDER)
    ? 'A restore was interrupted: delete everything in it and restore again.'
    : 'Set DATA_DIR to a new directory, or move its contents elsewhere.'
  throw failed(`${dataDir} is not empty (${found[0]}): a restore never overwrites data`, hint)
}
