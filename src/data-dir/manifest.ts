// A backup's description of itself, the last file in it. Whoever reads one takes nothing for
// granted: anybody can write one, with a hash that fits.

import { failed } from '../operations/operations.ts'
import type { FileCounts } from '../sqlite/backup/check-files.ts'
import { CONTROL_FILE, EMBEDDED_STORE, LEDGER_FILE, MEASUREMENTS_FILE } from '../sqlite/database.ts'

export const BACKUP_FORMAT = 'thermolog-backup-2'
export const MANIFEST_NAME = 'manifest.json'

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
 * @param source for messages
 * @throws Error unless the text describes the files of a DATA_DIR
 */
export function parseManifest(source: string, text: string): BackupManifest {
  const described = parseObject(text)
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

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
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
export function refuseOtherContents(
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
