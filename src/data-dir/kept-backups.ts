// A folder of dated backups of which the newest are kept. Nothing is deleted before the new one is
// whole, and only what has the name and the beginning of a backup.

import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { writeBackup } from './backup.ts'
import type { BackupProgress } from './backup.ts'
import { isBackup } from './read-backup.ts'
import type { BackupManifest } from './read-backup.ts'
import { statNamed } from './staging.ts'
import { failed } from '../operations/failure.ts'
import { systemClock } from '../system/clock.ts'
import { syncFolder } from '../system/disk.ts'

const DATED = /^thermolog-\d{8}T\d{6}Z\.tar$/
/** One for all, so that two never write at a time. */
const UNFINISHED = 'thermolog.unfinished'
const LOOK_EVERY_MS = 100

export interface KeptBackup {
  readonly file: string
  readonly manifest: BackupManifest
  /** Older backups, by name. */
  readonly deleted: readonly string[]
}

/**
 * Writes `thermolog-YYYYMMDDTHHMMSSZ.tar` into the folder, then deletes all but the newest.
 *
 * @param keep how many stay, the new one included; at least 1
 * @throws OperationError if the backup fails; nothing is deleted then
 */
export async function keepBackups(
  config: { readonly dataDir: string },
  { folder, keep }: { readonly folder: string; readonly keep: number },
  progress: BackupProgress,
): Promise<KeptBackup> {
  await refuseNoFolder(folder)
  const name = await freeName(folder)
  const file = join(folder, name)
  const manifest = await writeBackup(config, file, progress, join(folder, UNFINISHED))
  // Later names are of a clock that was wrong.
  const others = (await namesOfBackups(folder)).filter((other) => other !== name)
  const deleted = others.slice(keep - 1)
  for (const other of deleted) await rm(join(folder, other))
  await syncFolder(folder)
  return { file, manifest, deleted }
}

async function refuseNoFolder(folder: string): Promise<void> {
  const found = await statNamed('folder', folder)
  if (!found.isDirectory()) throw failed(`${folder} is not a folder, as --keep wants it`)
}

/** Of this second, or of the next if there was a backup in this one. */
async function freeName(folder: string): Promise<string> {
  for (;;) {
    const name = nameAt(systemClock.nowMs())
    if (!(await readdir(folder)).includes(name)) return name
    await setTimeout(LOOK_EVERY_MS)
  }
}

function nameAt(nowMs: number): string {
  const second = new Date(nowMs).toISOString().replace(/\.\d+|[-:]/g, '')
  return `thermolog-${second}.tar`
}

/** The newest first. */
async function namesOfBackups(folder: string): Promise<string[]> {
  const backups: string[] = []
  for (const name of (await readdir(folder)).filter((found) => DATED.test(found))) {
    if (await isBackup(join(folder, name))) backups.push(name)
  }
  return backups.toSorted().toReversed()
}
