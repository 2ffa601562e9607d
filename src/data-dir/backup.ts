// Backs up DATA_DIR as one file, beside a running service, changing nothing. A consistent snapshot
// of the files (sqlite/backup/data-snapshot.ts) is copied next to the target, checked, packed with
// a manifest and read back. Only then does the archive get its name, which must be free. If it is
// killed before that, it leaves `FILE.unfinished` and nothing else, which the next one takes over.

import { existsSync } from 'node:fs'
import { link, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { BACKUP_FORMAT, checkBackup, MANIFEST_NAME } from './read-backup.ts'
import type { BackupManifest } from './read-backup.ts'
import { inTemporaryFolder, inUnfinishedFolder, refuseLackOfRoom } from './staging.ts'
import manifest from '../../package.json' with { type: 'json' }
import { formatInstant } from '../domain/time.ts'
import { failed } from '../operations/failure.ts'
import type { OperationError } from '../operations/failure.ts'
import { checkFiles } from '../sqlite/backup/check-files.ts'
import type { FileCounts } from '../sqlite/backup/check-files.ts'
import { DataSnapshot } from '../sqlite/backup/data-snapshot.ts'
import type { SnapshotFile } from '../sqlite/backup/data-snapshot.ts'
import { packPages } from '../sqlite/backup/packed-pages.ts'
import { observed, packArchive, readFileChunks } from './archive.ts'
import type { ArchiveMember } from './archive.ts'
import { systemClock } from '../system/clock.ts'
import { syncFolder } from '../system/disk.ts'

export interface BackupProgress {
  /** @param totalBytes the sum of all calls of `advance` */
  begin(what: string, totalBytes: number): void
  advance(bytes: number): void
}

/**
 * Writes a backup into a new file. On disk and verified when it resolves.
 *
 * @param folder for what is not finished, next to the target
 * @throws OperationError when `target` already exists
 */
export async function writeBackup(
  { dataDir }: { readonly dataDir: string },
  target: string,
  progress: BackupProgress,
  folder = `${target}.unfinished`,
): Promise<BackupManifest> {
  if (existsSync(target)) throw isThere(target)
  return inUnfinishedFolder(folder, async () => {
    const described = await copySnapshot({ dataDir, folder, progress, isPackedThere: true })
    const archive = join(folder, 'backup')
    const packed = pack(described, folder, progress)
    await writeFile(archive, packed, { flag: 'wx', mode: 0o600, flush: true })
    const { size } = await stat(archive)
    progress.begin('verifying', size)
    const written = readFileChunks(archive, (bytes) => progress.advance(bytes))
    await checkBackup(archive, written)
    await giveName(archive, target)
    return described
  })
}

/**
 * Writes a backup as a stream of bytes, by way of copies below TMPDIR. The files in it are checked;
 * whether the stream arrives is for its reader to find out.
 *
 * @param put takes the bytes, in order; resolves when it can take more
 */
export async function streamBackup(
  { dataDir }: { readonly dataDir: string },
  put: (bytes: Buffer) => Promise<void>,
  progress: BackupProgress,
): Promise<BackupManifest> {
  return inTemporaryFolder(async (folder) => {
    const described = await copySnapshot({ dataDir, folder, progress, isPackedThere: false })
    for await (const chunk of pack(described, folder, progress)) await put(chunk)
    return described
  })
}

interface Copying {
  readonly dataDir: string
  /** For the copies. */
  readonly folder: string
  readonly progress: BackupProgress
  /** Whether the archive comes there as well, in place of each copy that is in it. */
  readonly isPackedThere: boolean
}

/** A snapshot of the files, copied into the folder and checked. */
async function copySnapshot(copying: Copying): Promise<BackupManifest> {
  const { dataDir, folder, progress, isPackedThere } = copying
  // Before the snapshot: what is acknowledged while it is taken may not be in it.
  const takenAtMs = systemClock.nowMs()
  const snapshot = await DataSnapshot.take(dataDir)
  const { storeName, files } = snapshot
  const totalBytes = files.reduce((sum, { bytes }) => sum + bytes, 0)
  try {
    const largestBytes = Math.max(...files.map(({ bytes }) => bytes))
    await refuseLackOfRoom(folder, totalBytes + (isPackedThere ? largestBytes : 0))
    progress.begin('copying', totalBytes)
    for (const { name } of files) {
      await snapshot.copy(name, join(folder, name), (bytes) => progress.advance(bytes))
    }
  } finally {
    snapshot.close()
  }
  return {
    format: BACKUP_FORMAT,
    thermolog: manifest.version,
    taken_at: formatInstant(takenAtMs),
    store: storeName,
    files: checkCopies(folder, files, progress),
  }
}

function checkCopies(
  folder: string,
  files: readonly SnapshotFile[],
  progress: BackupProgress,
): Record<string, FileCounts> {
  const bytesOf = new Map(files.map(({ name, bytes }) => [name, bytes]))
  progress.begin(
    'checking',
    files.reduce((sum, { bytes }) => sum + bytes, 0),
  )
  return checkFiles(folder, [...bytesOf.keys()], (name) => progress.advance(bytesOf.get(name) ?? 0))
}

async function* pack(
  described: BackupManifest,
  folder: string,
  progress: BackupProgress,
): AsyncGenerator<Buffer> {
  const names = Object.keys(described.files)
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size))
  progress.begin(
    'packing',
    sizes.reduce((sum, size) => sum + size, 0),
  )
  yield* packArchive(membersOf(described, folder, progress), Date.parse(described.taken_at))
}

async function* membersOf(
  described: BackupManifest,
  folder: string,
  progress: BackupProgress,
): AsyncGenerator<ArchiveMember> {
  for (const name of Object.keys(described.files)) {
    const file = join(folder, name)
    const { bytes, content } = packPages(file)
    yield { name, bytes, content: observed(content, (read) => progress.advance(read)) }
    // The next one may need its space.
    await rm(file)
  }
  const text = Buffer.from(`${JSON.stringify(described, null, 2)}\n`)
  yield { name: MANIFEST_NAME, bytes: text.length, content: Readable.from([text]) }
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
