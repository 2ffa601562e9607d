// What has to change in control.db before it is used again: the instance it was copied from may
// have run on for a while, and people and daemons have seen the ids it gave out.
//
// Ids jump far ahead of what that instance can have reached. Users and sensors have four-byte ids
// and rows of at least a hundred bytes that are never deleted: 2^24 of them are gigabytes of
// control.db. Journal rows come and go: 2^40 are three years at ten thousand commits a second.
// Everything else, above all tokens, jumps by 2^32. A random number below the same power of two is
// added to each. So no restore uses up more than 2^25 ids of users and sensors, and 64 of them are
// possible, one after another; numbers of the others stay exact through 4,000. An empty journal row
// takes the new number at once, because others wait for the journal's last number.
//
// Senders see a different identity, and learn that there was a restore and up to when everything is
// there.
//
// Forwarded rows are kept for a day after their commit, in case the store loses them. That day
// begins again: the store may have been restored too, and gets all of them once more.

import { join } from 'node:path'
import { idAfterRestore } from '../../domain/ids-after-restore.ts'
import type { HighestIds } from '../../domain/ids-after-restore.ts'
import { restoredTo } from '../../domain/restored-to.ts'
import { CONTROL_MIGRATIONS } from '../control/schema.ts'
import { CONTROL_FILE, openForReading, openForWriting } from '../database.ts'
import type { Connection } from '../database.ts'

const FOUR_BYTE_JUMP = 2 ** 24
const JOURNAL_JUMP = 2 ** 40
const JUMP = 2 ** 32

const JUMPS: Readonly<Record<string, number>> = {
  users: FOUR_BYTE_JUMP,
  sensors: FOUR_BYTE_JUMP,
  journal: JOURNAL_JUMP,
}

/** Beyond this, a sensor and a day no longer fit into one exact number. */
const FOUR_BYTE_ID_MAX = 2 ** 31

const NUMBERED_TABLES = `
  SELECT s.name, ifnull(q.seq, 0) AS lastId FROM sqlite_schema s
  LEFT JOIN sqlite_sequence q ON q.name = s.name
  WHERE s.type = 'table' AND s.sql LIKE '%AUTOINCREMENT%'`
const FORGET_SEQUENCE = 'DELETE FROM sqlite_sequence WHERE name = ?'
const SET_SEQUENCE = 'INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)'
const RENEW_ROWS = 'UPDATE journal SET committed_at_ms = ?'
const INSERT_EMPTY_ROW = 'INSERT INTO journal (seq, committed_at_ms, measurements) VALUES (?, ?, 0)'
const REVOKE_ALL = 'UPDATE access_tokens SET revoked_at_ms = ? WHERE revoked_at_ms IS NULL'
const END_LINKS = 'DELETE FROM sign_in_links'
const RENEW_IDENTITY = `
  UPDATE data_identity SET id = lower(hex(randomblob(16))), restored_to_ms = ?`
const RESTORED_TO = 'SELECT restored_to_ms FROM data_identity'
const COUNT_LIVE = 'SELECT count(*) FROM access_tokens WHERE revoked_at_ms IS NULL'

const NEWEST_ACCEPTED = `
  SELECT max(ifnull((SELECT max(committed_at_ms) FROM journal), 0),
    ifnull((SELECT max(last_seen_at_ms) FROM sensor_latest), 0))`

const STORE = 'SELECT name FROM measurement_store WHERE id = 1'

export interface RestoreOrder {
  readonly nowMs: number
  /** Everything acknowledged before this is in the backup. */
  readonly restoredToMs: number
  /** Whether all tokens end. */
  readonly isRevoking: boolean
  /** In a measurement store that was not copied along. */
  readonly idsInStore: HighestIds
}

/**
 * Prepares a restored control.db for use. When it returns, everything is durable and in the file,
 * without a log.
 *
 * @param folder that it is in
 * @returns how many tokens are valid now
 * @throws Error if the ids of users or sensors are used up
 */
export function prepareRestored(
  folder: string,
  { nowMs, restoredToMs, isRevoking, idsInStore }: RestoreOrder,
): number {
  const db = openForWriting(join(folder, CONTROL_FILE), CONTROL_MIGRATIONS)
  try {
    db.transaction(() => {
      moveSequences(db, nowMs, idsInStore)
      const previousMs = db.prepare<[], number | null>(RESTORED_TO).pluck().get() ?? null
      db.prepare(RENEW_IDENTITY).run(restoredTo(previousMs, restoredToMs))
      db.prepare(END_LINKS).run()
      if (isRevoking) db.prepare(REVOKE_ALL).run(nowMs)
    }).immediate()
    db.pragma('wal_checkpoint(TRUNCATE)')
    return db.prepare<[], number>(COUNT_LIVE).pluck().get() ?? 0
  } finally {
    db.close()
  }
}

export interface Copied {
  /** When the newest measurement that it knows of was accepted; 0 if there is none. */
  readonly newestAcceptedMs: number
  /** The measurement store in use, if one is. */
  readonly storeName: string | undefined
}

/** What a control.db that was put back by hand says of itself. */
export function readCopied(dataDir: string): Copied {
  const db = openForReading(dataDir, CONTROL_FILE)
  try {
    return {
      newestAcceptedMs: db.prepare<[], number>(NEWEST_ACCEPTED).pluck().get() ?? 0,
      storeName: db.prepare<[], string>(STORE).pluck().get(),
    }
  } finally {
    db.close()
  }
}

function moveSequences(db: Connection, nowMs: number, { userId, sensorId }: HighestIds): void {
  db.prepare(RENEW_ROWS).run(nowMs)
  const inStore: Readonly<Record<string, number>> = { users: userId, sensors: sensorId }
  for (const { name, lastId } of db
    .prepare<[], { name: string; lastId: number }>(NUMBERED_TABLES)
    .all()) {
    const jump = JUMPS[name] ?? JUMP
    const known = [lastId, inStore[name] ?? 0]
    const movedId = idAfterRestore(known, { ids: jump, randomIds: jump - 1 })
    if (jump === FOUR_BYTE_JUMP && movedId > FOUR_BYTE_ID_MAX) {
      const last = Math.max(...known)
      throw new Error(`the ids of ${name} are used up at ${last}: it was restored too often`)
    }
    db.prepare(FORGET_SEQUENCE).run(name)
    db.prepare(SET_SEQUENCE).run(name, movedId)
    if (name === 'journal') db.prepare(INSERT_EMPTY_ROW).run(movedId, nowMs)
  }
}
