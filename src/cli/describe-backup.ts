// What commands say of a backup.

import type { BackupManifest } from '../data-dir/read-backup.ts'
import { counted } from '../domain/grouped.ts'

/** Where a database has the data. */
export const INSTEAD =
  'Use the backups of PostgreSQL: pg_dump, or its archive of the write-ahead log.'

export function describeBackup({ files }: BackupManifest): string {
  const { users, sensors = 0, journal_measurements: journalled = 0 } = files['control.db'] ?? {}
  if (users === undefined) return 'files of an older version'
  const stored = files['measurements.db']?.['measurements']
  const measurements = counted(stored ?? journalled, 'measurement')
  const where = stored === undefined ? ' in the journal' : ''
  return `${counted(users, 'user')}, ${counted(sensors, 'sensor')}, ${measurements}${where}`
}
