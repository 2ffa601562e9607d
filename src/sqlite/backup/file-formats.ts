// The formats of the files in a DATA_DIR. Each file has the number of its own, and a list of
// migrations, the last of which leads to what this version reads and writes.

import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { CONTROL_MIGRATIONS } from '../control/schema.ts'
import {
  CONTROL_FILE,
  damagedFile,
  DATA_FILES,
  formatOf,
  isOlderFormat,
  LEDGER_FILE,
  MEASUREMENTS_FILE,
  newestOf,
  openForReading,
  orDamaged,
  refuseOtherFormat,
  upgradeFile,
} from '../database.ts'
import type { Connection, Migration } from '../database.ts'
import { LEDGER_MIGRATIONS } from '../ledger/schema.ts'
import { MEASUREMENT_MIGRATIONS } from '../measurements/schema.ts'

const MIGRATIONS: Readonly<Record<string, readonly Migration[]>> = {
  [CONTROL_FILE]: CONTROL_MIGRATIONS,
  [LEDGER_FILE]: LEDGER_MIGRATIONS,
  [MEASUREMENTS_FILE]: MEASUREMENT_MIGRATIONS,
}

export interface FileFormat {
  /** `control.db` */
  readonly name: string
  readonly version: number
  /** What this version of Thermolog knows. */
  readonly newest: number
  /** Whether it can be brought up to date. */
  readonly isOlder: boolean
}

/**
 * Of the files that are there and have tables.
 *
 * @throws DamagedData
 */
export function readFormats(folder: string): FileFormat[] {
  return DATA_FILES.filter((name) => existsSync(join(folder, name)))
    .map((name) => {
      const migrations = MIGRATIONS[name] ?? []
      const version = orDamaged(damagedFile(name), () => readFormat(join(folder, name)))
      const isOlder = isOlderFormat(version, migrations)
      return { name, version, newest: newestOf(migrations), isOlder }
    })
    .filter(({ version }) => version > 0)
}

/**
 * Brings files with an older format up to date, each whole or not at all. The largest comes first:
 * if its volume has no room for it, nothing is changed.
 *
 * @throws DamagedData @throws Error that names the file
 */
export function upgradeFiles(folder: string): void {
  const older = readFormats(folder).filter(({ isOlder }) => isOlder)
  const bytesOf = ({ name }: FileFormat) => statSync(join(folder, name)).size
  for (const { name } of older.toSorted((one, other) => bytesOf(other) - bytesOf(one))) {
    upgradeFile(join(folder, name), MIGRATIONS[name] ?? [])
  }
}

/** @throws OtherFormat if it is not that of this version */
export function refuseOtherVersion(db: Connection, name: string): void {
  refuseOtherFormat(db, name, MIGRATIONS[name] ?? [])
}

/** @throws OtherFormat if there are no migrations from it */
export function refuseUnknownVersion(db: Connection, name: string): void {
  if (!isOfOlderVersion(db, name)) refuseOtherVersion(db, name)
}

export function isOfOlderVersion(db: Connection, name: string): boolean {
  return isOlderFormat(formatOf(db), MIGRATIONS[name] ?? [])
}

function readFormat(file: string): number {
  const db = openForReading(file)
  try {
    return formatOf(db)
  } finally {
    db.close()
  }
}
