// The settings that "acknowledged" rests on. They can change while the server runs, so they are
// read before a group commits and again behind its COMMIT. A group is acknowledged only if both
// times they were safe, and the same.

/** `local`: on the primary's disk; `replicated`: on a synchronous standby's disk as well. */
export type Durability = 'local' | 'replicated'

/** One row of `READ_DURABILITY`. */
export interface DurabilityRow {
  readonly fsync: string
  readonly fullPageWrites: string
  readonly synchronousCommit: string
  readonly standbyNames: string
  /** When the server last loaded its settings; text, only compared. */
  readonly loadedAt: string
  readonly isStandby: boolean
  /** Changes with a promotion. `null` on a standby. */
  readonly timeline: string | null
  /** Names the data directory in which the data began; `null` if the server does not tell. */
  readonly systemIdentifier: string | null
}

export const READ_DURABILITY = `
  SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS "fullPageWrites",
    current_setting('synchronous_commit') AS "synchronousCommit",
    current_setting('synchronous_standby_names') AS "standbyNames",
    pg_conf_load_time()::text AS "loadedAt", pg_is_in_recovery() AS "isStandby",
    CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END
      AS timeline,
    (SELECT system_identifier::text FROM pg_control_system()) AS "systemIdentifier"`

/** @returns why nothing may be acknowledged with these settings, and what to do */
export function durabilityFault(row: DurabilityRow, durability: Durability): string | undefined {
  if (row.isStandby) return 'the server is a standby: name the primary in DATABASE_URL'
  if (row.fsync !== 'on') return 'fsync is off: a power cut loses what was committed; set fsync=on'
  if (row.fullPageWrites !== 'on') {
    return 'full_page_writes is off: a power cut can tear pages; set full_page_writes=on'
  }
  if (durability === 'local') {
    const isFlushed = row.synchronousCommit !== 'off'
    return isFlushed ? undefined : 'synchronous_commit is off: set synchronous_commit=on'
  }
  if (!['on', 'remote_apply'].includes(row.synchronousCommit)) {
    return 'DURABILITY=replicated needs synchronous_commit=on or remote_apply'
  }
  if (row.standbyNames === '') {
    return 'DURABILITY=replicated needs a synchronous standby: set synchronous_standby_names'
  }
  return undefined
}

/** Whether the settings behind a COMMIT are the ones read before it. */
export function isSameDurability(before: DurabilityRow, after: DurabilityRow): boolean {
  return (
    before.loadedAt === after.loadedAt &&
    before.fsync === after.fsync &&
    before.fullPageWrites === after.fullPageWrites &&
    before.synchronousCommit === after.synchronousCommit &&
    before.standbyNames === after.standbyNames &&
    before.timeline === after.timeline &&
    before.systemIdentifier === after.systemIdentifier
  )
}
