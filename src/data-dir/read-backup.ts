// Reads a backup, whoever wrote it: it may have only the files that a backup has, each once.

import { text } from 'node:stream/consumers'
import { MANIFEST_NAME, parseManifest, refuseOtherContents } from './manifest.ts'
import type { BackupManifest } from './manifest.ts'
import { checkFiles } from '../sqlite/backup/check-files.ts'
import { CONTROL_FILE, LEDGER_FILE, MEASUREMENTS_FILE } from '../sqlite/database.ts'
import { upgradeFiles } from '../sqlite/backup/file-formats.ts'
import { readArchive } from './archive.ts'
import type { ArchiveMember } from './archive.ts'

const FILES = new Set([CONTROL_FILE, LEDGER_FILE, MEASUREMENTS_FILE, MANIFEST_NAME])
const MANIFEST_BYTES_MAX = 1024 * 1024

/**
 * Reads a backup to its end.
 *
 * @param source its name, for messages
 * @param take gets each file but the manifest, and reads all of its content or throws
 * @throws Error if it is not a whole backup: what is taken by then is worth nothing
 */
export async function readBackup(
  source: string,
  chunks: AsyncIterable<Buffer>,
  take: (file: ArchiveMember) => Promise<void>,
): Promise<BackupManifest> {
  const refusal = (why: string) => new Error(`${source} is not a Thermolog backup: it ${why}`)
  const seen = new Set<string>()
  let described = ''
  await readArchive(source, chunks, async (member) => {
    const { name, bytes, content } = member
    if (!FILES.has(name)) throw refusal('has a file of another name')
    if (seen.has(name)) throw refusal(`has ${name} twice`)
    seen.add(name)
    if (name !== MANIFEST_NAME) return take(member)
    if (bytes > MANIFEST_BYTES_MAX) throw refusal(`has a ${name} of ${bytes} bytes`)
    described = await text(content)
  })
  if (!seen.has(MANIFEST_NAME)) throw refusal(`has no ${MANIFEST_NAME}`)
  const manifest = parseManifest(source, described)
  const missing = Object.keys(manifest.files).find((name) => !seen.has(name))
  if (missing !== undefined) throw refusal(`has no ${missing}`)
  return manifest
}

/** Reads it for nothing but its hash and its manifest. */
export function checkBackup(
  source: string,
  chunks: AsyncIterable<Buffer>,
): Promise<BackupManifest> {
  return readBackup(source, chunks, async ({ content }) => {
    for await (const _ of content);
  })
}

/**
 * Brings the unpacked files of a backup up to date, and checks them.
 *
 * @param onFile called after each, which may take minutes
 * @returns what is in them
 * @throws Error unless they are whole, of one moment, and what the manifest describes
 */
export function checkUnpacked(
  folder: string,
  manifest: BackupManifest,
  onFile?: (name: string) => void,
): BackupManifest['files'] {
  upgradeFiles(folder)
  const files = checkFiles(folder, Object.keys(manifest.files), onFile)
  refuseOtherContents(manifest, files)
  return files
}
