// What `thermolog verify --archive` checks: all bytes of a backup, then what a restore of it would
// check, then what `verify` checks in a DATA_DIR. It works on a copy below TMPDIR, since SQLite
// reads files.

import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { checkUnpacked, readBackup } from './read-backup.ts'
import type { BackupManifest } from './read-backup.ts'
import { inMb, inTemporaryFolder, refuseLackOfRoom, statNamed } from './staging.ts'
import type { Verdict } from './verdict.ts'
import { verifyFiles } from './verify.ts'
import type { WorkProgress } from '../ports/system.ts'
import { unpackPages } from '../sqlite/backup/packed-pages.ts'
import { observed } from './archive.ts'

const BYTES_PER_KB = 1_000
const REMEDY = 'Use another backup. Run `thermolog verify` on DATA_DIR: the fault may be there too.'

export interface ArchiveVerdict extends Verdict {
  readonly manifest: BackupManifest
}

export interface ArchiveProgress extends WorkProgress {
  /** Where it is unpacked, and what that takes; not known of standard input. */
  note(text: string): void
}

/**
 * Checks everything in a backup; it may take minutes.
 *
 * @param file or standard input
 * @throws OperationError if TMPDIR has not enough room @throws Error if it is not a whole backup
 */
export async function verifyArchiveFile(
  file: string | Readable,
  progress: ArchiveProgress,
): Promise<ArchiveVerdict> {
  const isFile = typeof file === 'string'
  const size = isFile ? (await statNamed('file', file)).size : undefined
  const source = isFile ? file : 'standard input'
  return inTemporaryFolder(async (folder) => {
    progress.note(`unpacking into ${folder}${size === undefined ? '' : `: ${inMb(size)}`}`)
    await refuseLackOfRoom(folder, size ?? 0)
    const chunks = isFile ? createReadStream(file) : file
    const manifest = await readBackup(source, chunks, async (member) => {
      const { name, bytes } = member
      await refuseLackOfRoom(folder, bytes)
      progress.begin(`unpacking ${name}`, Math.ceil(bytes / BYTES_PER_KB), 'kB')
      const advance = (read: number) => progress.advance(read / BYTES_PER_KB)
      const content = observed(member.content, advance)
      await unpackPages(`${name} of ${source}`, { bytes, content }, join(folder, name))
    })
    checkRestorable(source, { folder, manifest }, progress)
    const names = Object.keys(manifest.files)
    const verdict = await verifyFiles({ dataDir: folder, influx: undefined, names }, progress)
    const findings = verdict.findings.map((finding) => ({ ...finding, remedy: REMEDY }))
    return { ...verdict, findings, manifest }
  })
}

/** @throws Error where `restore` would refuse it */
function checkRestorable(
  source: string,
  { folder, manifest }: { readonly folder: string; readonly manifest: BackupManifest },
  progress: WorkProgress,
): void {
  const names = Object.keys(manifest.files)
  progress.begin('checking what restore checks', names.length, 'file')
  try {
    checkUnpacked(folder, manifest, () => progress.advance(1))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`${source} cannot be restored: ${reason}`, { cause: error })
  }
}
