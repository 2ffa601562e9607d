// Restoring a backup into a DATA_DIR that has no data. The work is done in a folder `restoring`
// inside it, and as long as that is there `serve` refuses DATA_DIR: a restore that was killed in
// the middle is never taken for a whole one.

import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { BACKUP_FORMAT, MANIFEST_NAME } from './compose-backup.ts'
import type { BackupManifest, BackupProgress } from './compose-backup.ts'
import type { Config } from './config.ts'
import { OperationError } from './operations/operations.ts'
import { checkFiles } from './sqlite/backup/check-files.ts'
import type { FileCounts } from './sqlite/backup/check-files.ts'
import { EMBEDDED_STORE } from './sqlite/backup/data-snapshot.ts'
import { prepareRestored } from './sqlite/backup/restored-control.ts'
import { lockDataDir, RESTORE_FOLDER } from './sqlite/data-dir-lock.ts'
import { CONTROL_FILE, LEDGER_FILE, MEASUREMENTS_FILE } from './sqlite/database.ts'
import { extractMember, readTextMember, verifyArchive } from './system/archive.ts'
import type { ArchiveMember } from './system/archive.ts'
import { systemClock } from './system/clock.ts'
import { syncFolder } from './system/disk.ts'

/** What an empty DATA_DIR may have: a lock of our own, and what a new volume comes with. */
const NO_DATA = /^(lock\.db(-\w+)?|lost\+found)$/

export interface RestoreOutcome {
  readonly manifest: BackupManifest
  /** Tokens that work now. */
  readonly liveTokens: number
}

/**
 * Restores a backup into a DATA_DIR that has no data. On disk when it resolves.
 *
 * @throws OperationError when there are data
 * @throws Error when the backup is damaged: nothing is left of it in DATA_DIR
 */
export async function restoreBackup(
  { dataDir }: Config,
  source: string,
  { isRevoking, progress }: { readonly isRevoking: boolean; readonly progress: BackupProgress },
): Promise<RestoreOutcome> {
  const { size } = await stat(source).catch((error: NodeJS.ErrnoException) => {
    throw failed(error.code === 'ENOENT' ? `no file ${source}` : error.message)
  })
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await refuseData(dataDir)
  progress.begin('verifying', size)
  const members = await verifyArchive(source, (bytes) => progress.advance(bytes))
  const lock = lockDataDir(dataDir)
  try {
    await refuseData(dataDir)
    const folder = join(dataDir, RESTORE_FOLDER)
    await mkdir(folder, { mode: 0o700 })
    await syncFolder(dataDir)
    const outcome = await restoreFiles({ source, members, folder, isRevoking, progress })
    await moveIntoPlace(dataDir, outcome.manifest)
    return outcome
  } finally {
    lock.release()
  }
}

interface Restoring {
  readonly source: string
  readonly members: ReadonlyMap<string, ArchiveMember>
  /** Inside DATA_DIR. */
  readonly folder: string
  readonly isRevoking: boolean
  readonly progress: BackupProgress
}

/** Into the folder, which is gone again when it fails. */
async function restoreFiles(restoring: Restoring): Promise<RestoreOutcome> {
  const { folder, isRevoking } = restoring
  try {
    const described = await extractFiles(restoring)
    const nowMs = systemClock.nowMs()
    const liveTokens = prepareRestored(join(folder, CONTROL_FILE), { nowMs, isRevoking })
    return { manifest: described, liveTokens }
  } catch (error) {
    await rm(folder, { recursive: true })
    throw error
  }
}

async function extractFiles(restoring: Restoring): Promise<BackupManifest> {
  const { source, members, folder, progress } = restoring
  const described = await readManifest(source, members)
  const names = fileNames(described)
  const files = names.map((name) => memberOf(members, name))
  progress.begin(
    'restoring',
    files.reduce((sum, { bytes }) => sum + bytes, 0),
  )
  for (const member of files) {
    await extractMember(source, member, join(folder, member.name), (n) => progress.advance(n))
  }
  const counts = checkFiles(folder, names)
  const differing = names.filter((name) => !isAsDescribed(counts[name], described.files[name]))
  if (differing.length === 0) return described
  throw new Error(`${source} has not in it what its manifest says of ${differing.join(', ')}`)
}

/** @throws Error unless they are the files of a DATA_DIR */
function fileNames({ store, files }: BackupManifest): readonly string[] {
  const wanted = [CONTROL_FILE, LEDGER_FILE]
  if (store === EMBEDDED_STORE) wanted.push(MEASUREMENTS_FILE)
  const names = Object.keys(files)
  if (names.toSorted().join() === wanted.toSorted().join()) return names
  throw new Error(`a backup with ${store} as its store has not the files ${names.join(', ')}`)
}

/** Another version may count other things. */
function isAsDescribed(found: FileCounts = {}, described: FileCounts = {}): boolean {
  return Object.entries(described).every(([what, count]) => (found[what] ?? count) === count)
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

async function readManifest(
  source: string,
  members: ReadonlyMap<string, ArchiveMember>,
): Promise<BackupManifest> {
  const text = await readTextMember(source, memberOf(members, MANIFEST_NAME))
  const described = JSON.parse(text) as BackupManifest
  if (described.format === BACKUP_FORMAT) return described
  const hint = 'Restore it with the version of Thermolog that made it.'
  throw failed(`${source} is a backup of another form: ${String(described.format)}`, hint)
}

function memberOf(members: ReadonlyMap<string, ArchiveMember>, name: string): ArchiveMember {
  const member = members.get(name)
  if (member === undefined) throw new Error(`no backup of Thermolog: it has no ${name}`)
  return member
}

async function refuseData(dataDir: string): Promise<void> {
  const found = (await readdir(dataDir)).filter((name) => !NO_DATA.test(name))
  if (found.length === 0) return
  const hint = found.includes(RESTORE_FOLDER)
    ? 'A restore did not come to its end: delete what is in it and restore again.'
    : 'Name a new directory in DATA_DIR, or move what is in it away.'
  throw failed(`${dataDir} is not empty (${found[0]}): a restore never writes over data`, hint)
}

function failed(message: string, hint?: string): OperationError {
  return new OperationError({ kind: 'failed', message, ...(hint === undefined ? {} : { hint }) })
}
