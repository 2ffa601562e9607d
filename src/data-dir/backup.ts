// Backs up DATA_DIR as one file, beside a running service, changing nothing. A consistent snapshot
// of the files (sqlite/backup/data-snapshot.ts) is copied next to the target, checked, packed with
// a manifest and read back. Only then does the archive get its name, which must be free. If it is
// killed before that, it leaves `FILE.unfinished` and nothing else.

import { existsSync } from 'node:fs'
import { link, mkdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { formatInstant } from '../domain/time.ts'
import { failed } from '../operations/operations.ts'
import type { OperationError } from '../operations/operations.ts'
import { checkFiles } from '../sqlite/backup/check-files.ts'
import type { FileCounts } from '../sqlite/backup/check-files.ts'
import { DataSnapshot } from '../sqlite/backup/data-snapshot.ts'
import { ArchiveWriter, verifyArchive } from '../system/archive.ts'
import { systemClock } from '../system/clock.ts'
import { syncFolder } from '../system/disk.ts'

export const BACKUP_FORMAT = 'thermolog-backup-1'
export const MANIFEST_NAME = 'manifest.json'

/** A backup's description of itself. */
export interface BackupManifest {
  readonly format: typeof BACKUP_FORMAT
  readonly thermolog: string
  /** All that was acknowledged before is in it. */
  readonly taken_at: string
  /** `embedded`, or the InfluxDB that holds the measurements, which are then not in the backup. */
  readonly store: string
  /** The contents of each file, in packing order. */
  readonly files: Readonly<Record<string, FileCounts>>
}

export interface BackupProgress {
  /** @param totalBytes the sum of all calls of `advance` */
  begin(what: string, totalBytes: number): void
  advance(bytes: number): void
}

/**
 * Writes a backup. On disk and verified when it resolves.
 *
 * @throws OperationError when `target` already exists
 */
export async function writeBackup(
  { dataDir }: { readonly dataDir: string },
  target: string,
  progress: BackupProgress,
): Promise<BackupManifest> {
  if (existsSync(target)) throw isThere(target)
  const folder = `${target}.unfinished`
  await makeFolder(folder)
  try {
    const described = await copySnapshot(dataDir, folder, progress)
    const archive = join(folder, 'backup')
    await pack(archive, described, { folder, progress })
    const { size } = await stat(archive)
    progress.begin('verifying', size)
    await verifyArchive(archive, (bytes) => progress.advance(bytes))
    await giveName(archive, target)
    return described
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** A snapshot of the files, copied into the folder and checked. */
async function copySnapshot(
  dataDir: string,
  folder: string,
  progress: BackupProgress,
): Promise<BackupManifest> {
  // Before the snapshot: what is acknowledged while it is taken may not be in it.
  const takenAtMs = systemClock.nowMs()
  const snapshot = await DataSnapshot.take(dataDir)
  const { storeName, files } = snapshot
  const totalBytes = files.reduce((sum, { bytes }) => sum + bytes, 0)
  try {
    progress.begin('copying', totalBytes)
    for (const { name } of files) {
      await snapshot.copy(name, join(folder, name), (bytes) => progress.advance(bytes))
    }
  } finally {
    snapshot.close()
  }
  const counts = checkFiles(
    folder,
    files.map(({ name }) => name),
  )
  return {
    format: BACKUP_FORMAT,
    thermolog: manifest.version,
    taken_at: formatInstant(takenAtMs),
    store: storeName,
    files: counts,
  }
}

async function pack(
  archive: string,
  described: BackupManifest,
  { folder, progress }: { readonly folder: string; readonly progress: BackupProgress },
): Promise<void> {
  const files = Object.keys(described.files).map((name) => ({ name, file: join(folder, name) }))
  const sizes = await Promise.all(files.map(async ({ file }) => (await stat(file)).size))
  progress.begin(
    'packing',
    sizes.reduce((sum, size) => sum + size, 0),
  )
  const writer = await ArchiveWriter.create(archive, Date.parse(described.taken_at))
  try {
    for (const { name, file } of files) {
      await writer.addFile(name, file, (bytes) => progress.advance(bytes))
      // The next one may need its space.
      await rm(file)
    }
    await writer.addText(MANIFEST_NAME, `${JSON.stringify(described, null, 2)}\n`)
    await writer.finish()
  } finally {
    await writer.close()
  }
}

async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw failed(`cannot write there: ${error.message}`)
    const hint = 'Delete it, unless that backup is still being written.'
    throw failed(`${folder} exists: another backup has not finished`, hint)
  })
}

/** Unlike a rename, a link never replaces a file. */
async function giveName(archive: string, target: string): Promise<void> {
  try {
    await link(archive, target)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' || existsSync(target)) throw isThere(target)
    // USB sticks and network shares often have no links.
    await rename(archive, target)
  }
  await syncFolder(dirname(target))
}

function isThere(target: string): OperationError {
  return failed(
    `${target} already exists, and a backup never overwrites a file`,
    'Name another file.',
  )
}
