// Reads a backup: it may have only the files that a backup has, each once, and the last of them is
// its description of itself. Nothing is taken for granted: anybody can write one, with a hash that
// fits.

import { lstat } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { failed } from '../operations/failure.ts'
import { checkFiles } from '../sqlite/backup/check-files.ts'
import type { FileCounts } from '../sqlite/backup/check-files.ts'
import { CONTROL_FILE, EMBEDDED_STORE, LEDGER_FILE, MEASUREMENTS_FILE } from '../sqlite/database.ts'
import { upgradeFiles } from '../sqlite/backup/file-formats.ts'
import { beginsWith, readArchive } from './archive.ts'
import type { ArchiveMember } from './archive.ts'

export const BACKUP_FORMAT = 'thermolog-backup-2'
export const MANIFEST_NAME = 'manifest.json'

const FILES = new Set([CONTROL_FILE, LEDGER_FILE, MEASUREMENTS_FILE, MANIFEST_NAME])
const MANIFEST_BYTES_MAX = 1024 * 1024

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

/** Whether a path is that of a file which begins like a backup. */
export async function isBackup(path: string): Promise<boolean> {
  return (await lstat(path)).isFile() && (await beginsWith(path, CONTROL_FILE))
}

/**
 * @param source for messages
 * @throws Error unless it describes the files of a DATA_DIR
 */
function parseManifest(source: string, json: string): BackupManifest {
  const described = parseObject(json)
  if (described === undefined) throw noManifest(source)
  if (described['format'] !== BACKUP_FORMAT) {
    const hint = 'Restore it with the version of Thermolog that wrote it.'
    throw failed(`${source} is a backup in another format: ${quote(described['format'])}`, hint)
  }
  if (!isManifest(described)) throw noManifest(source)
  const { store, files } = described
  const wanted = [CONTROL_FILE, LEDGER_FILE]
  if (store === EMBEDDED_STORE) wanted.push(MEASUREMENTS_FILE)
  const names = Object.keys(files)
  if (names.toSorted().join() === wanted.toSorted().join()) return described
  throw new Error(
    `${source} names the store ${quote(store)}, which does not match its files: ${quote(names)}`,
  )
}

function parseObject(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isManifest(described: object): described is BackupManifest {
  const { thermolog, taken_at: takenAt, store, files } = described as Partial<BackupManifest>
  return (
    [thermolog, takenAt, store].every((member) => typeof member === 'string') &&
    // No text beside the time, which would be printed.
    /^[-\d:.TZ]+$/.test(takenAt ?? '') &&
    Number.isFinite(Date.parse(takenAt ?? '')) &&
    isObject(files) &&
    Object.values(files).every(
      (counts) => isObject(counts) && Object.values(counts).every(Number.isFinite),
    )
  )
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Text from an archive never reaches a terminal unescaped. */
function quote(value: unknown): string {
  return JSON.stringify(value) ?? 'none'
}

function noManifest(source: string): Error {
  return new Error(
    `${source} is not a Thermolog backup: its ${MANIFEST_NAME} does not describe one`,
  )
}

/** @throws Error if the files are not those that the manifest describes */
function refuseOtherContents(
  { files }: BackupManifest,
  counts: Readonly<Record<string, FileCounts>>,
): void {
  const names = Object.keys(files)
  const differing = names.filter((name) => !isAsDescribed(counts[name], files[name]))
  if (differing.length === 0) return
  throw new Error(`its manifest does not match its contents: ${differing.join(', ')}`)
}

/** Other versions may count other things. */
function isAsDescribed(found: FileCounts = {}, described: FileCounts = {}): boolean {
  return Object.entries(described).every(([what, count]) => (found[what] ?? count) === count)
}
