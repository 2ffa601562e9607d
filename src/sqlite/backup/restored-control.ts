// What has to change in control.db before it is used again: the instance that it was copied from
// may have gone on for a while, and people and daemons have seen what it gave out.
//
// Ids go far ahead of what that instance can have reached. Users and sensors are kept in four bytes
// and have a row for ever, of a hundred bytes at least: 2^24 of them are gigabytes of control.db.
// Journal rows come and go: 2^40 are three years of ten thousand commits a second. All else, tokens
// above all, goes by 2^32. An empty journal row takes the new number at once, because the journal's
// last number is one that is waited for.
//
// Senders learn from another identity that there was a restore, and up to when it has everything.
//
// Rows that were forwarded are kept for a store of its own, for a day from their commit. That day
// begins anew: the store may have been restored too, and gets all of them once more.

import { CONTROL_MIGRATIONS } from '../control/schema.ts'
import { openForWriting } from '../database.ts'
import type { Connection } from '../database.ts'

const FOUR_BYTE_JUMP = 2 ** 24
const JOURNAL_JUMP = 2 ** 40
const JUMP = 2 ** 32

const JUMPS: Readonly<Record<string, number>> = {
  users: FOUR_BYTE_JUMP,
  sensors: FOUR_BYTE_JUMP,
  journal: JOURNAL_JUMP,
}

/** Beyond it a sensor and a day no longer make one exact number. */
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
const RENEW_IDENTITY = `
  UPDATE data_identity SET text = lower(hex(randomblob(16))), restored_to_ms = ? WHERE id = 1`
const COUNT_LIVE = 'SELECT count(*) FROM access_tokens WHERE revoked_at_ms IS NULL'

export interface RestoreOrder {
  readonly nowMs: number
  /** What was acknowledged before is in the backup. */
  readonly restoredToMs: number
  /** Whether all tokens end. */
  readonly isRevoking: boolean
}

/**
 * Makes a restored control.db fit for use. Durable when it returns, with no log beside the file.
 *
 * @returns how many tokens are live now
 * @throws Error when the ids of users or sensors are used up
 */
export function prepareRestored(
  file: string,
  { nowMs, restoredToMs, isRevoking }: RestoreOrder,
): number {
  const db = openForWriting(file, CONTROL_MIGRATIONS)
  try {
    db.transaction(() => {
      moveSequences(db, nowMs)
      db.prepare(RENEW_IDENTITY).run(restoredToMs)
      if (isRevoking) db.prepare(REVOKE_ALL).run(nowMs)
    }).immediate()
    db.pragma('wal_checkpoint(TRUNCATE)')
    return db.prepare<[], number>(COUNT_LIVE).pluck().get() ?? 0
  } finally {
    db.close()
  }
}

function moveSequences(db: Connection, nowMs: number): void {
  db.prepare(RENEW_ROWS).run(nowMs)
  for (const { name, lastId } of db
    .prepare<[], { name: string; lastId: number }>(NUMBERED_TABLES)
    .all()) {
    const jump = JUMPS[name] ?? JUMP
    const movedId = lastId + jump
    if (jump === FOUR_BYTE_JUMP && movedId > FOUR_BYTE_ID_MAX) {
      throw new Error(`the ids of ${name} are used up at ${lastId}: it was restored too often`)
    }
    db.prepare(FORGET_SEQUENCE).run(name)
    db.prepare(SET_SEQUENCE).run(name, movedId)
    if (name === 'journal') db.prepare(INSERT_EMPTY_ROW).run(movedId, nowMs)
  }
}
