// When the last backup was made, as far as DATA_DIR knows.

import { LAST_BACKUP_FILE, readLastBackup } from '../system/last-backup.ts'
import { DAY_MS, formatSecond } from '../domain/time.ts'
import { systemClock } from '../system/clock.ts'
import { Check } from './check.ts'
import type { CheckResult } from './check.ts'

/** A nightly backup may take hours, and one may fail. */
const AGE_MS_MAX = 2 * DAY_MS

const backupCheck = new Check('backup')

export async function checkBackup(dataDir: string): Promise<CheckResult> {
  const last = await readLastBackup(dataDir)
  if (last === undefined) {
    const remedy = 'see Backup and restore in docs/operations.md; snapshots of the volume will do'
    return backupCheck.warning('`thermolog backup` has made none of these data', remedy)
  }
  const { takenAtMs, file } = last
  const made = `the last backup is of ${formatSecond(takenAtMs)}: ${file ?? 'standard output'}`
  // A backup from the future comes from a wrong clock and would never be old.
  if (Math.abs(systemClock.nowMs() - takenAtMs) <= AGE_MS_MAX) return backupCheck.ok(made)
  const remedy =
    'see why none was made since: `systemctl status thermolog-backup.timer thermolog-backup`; ' +
    `if snapshots take its place, delete ${LAST_BACKUP_FILE} in DATA_DIR`
  return backupCheck.wrong(made, remedy)
}
