// Refused entries as rows of control.db. Triggers keep the number of bytes per user, so checking a
// limit needs no scan.

import { hash } from 'node:crypto'
import { refusedBytesMax, refusedUserBytesMax } from '../../domain/limits.ts'
import type { Refused, RefusedEntry } from '../../ports/refused.ts'
import type { Connection } from '../database.ts'

/** What a row takes in addition to its texts. */
const ROW_BYTES = 256

const KEEP = `
  INSERT INTO refused
    (user_id, token_id, kind, content, unit_ns, serial_number_prefix, content_hash, reason,
     received_at_ms, retry_at_ms, bytes)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (user_id, content_hash) DO UPDATE SET
    token_id = excluded.token_id, reason = excluded.reason, count = count + 1,
    received_at_ms = excluded.received_at_ms, retry_at_ms = excluded.retry_at_ms`
const COLUMNS = `
  id, user_id AS userId, token_id AS tokenId, kind, content, unit_ns AS unitNs,
  serial_number_prefix AS serialNumberPrefix, reason, received_at_ms AS receivedAtMs,
  retry_at_ms AS retryAtMs, count`
const LIST = `SELECT ${COLUMNS} FROM refused WHERE id > ? ORDER BY id LIMIT ?`
const DUE = `SELECT ${COLUMNS} FROM refused WHERE retry_at_ms <= ? ORDER BY retry_at_ms LIMIT ?`
const COUNT = `
  SELECT (SELECT count(*) FROM refused) AS count,
    (SELECT ifnull(sum(dropped), 0) FROM refused_totals) AS dropped`
const BYTES_OF_USER = 'SELECT bytes FROM refused_totals WHERE user_id = ?'
const BYTES_OF_ALL = 'SELECT sum(bytes) FROM refused_totals'
const DROP_OLDEST = `
  DELETE FROM refused WHERE id = (SELECT min(id) FROM refused WHERE user_id = ?)`
const COUNT_DROPPED = 'UPDATE refused_totals SET dropped = dropped + 1 WHERE user_id = ?'
const NOTE_AGAIN = 'UPDATE refused SET reason = ?, retry_at_ms = NULL WHERE id = ?'
const DROP = 'DELETE FROM refused WHERE id = ?'
const DROP_ALL = 'DELETE FROM refused'

export class RefusedRows {
  readonly #db: Connection

  constructor(db: Connection) {
    this.#db = db
  }

  list(afterId: number, limit: number): RefusedEntry[] {
    return this.#db.prepare<[number, number], RefusedEntry>(LIST).all(afterId, limit)
  }

  due(nowMs: number, limit: number): RefusedEntry[] {
    return this.#db.prepare<[number, number], RefusedEntry>(DUE).all(nowMs, limit)
  }

  count(): { count: number; dropped: number } {
    const counts = this.#db.prepare<[], { count: number; dropped: number }>(COUNT).get()
    return counts ?? { count: 0, dropped: 0 }
  }

  keep(refused: readonly Refused[]): void {
    const keep = this.#db.prepare(KEEP)
    for (const entry of refused) {
      const { userId, tokenId, kind, content, unitNs, serialNumberPrefix, reason } = entry
      const key = JSON.stringify([kind, content, unitNs, serialNumberPrefix])
      const times = [entry.receivedAtMs, entry.retryAtMs]
      const bytes = ROW_BYTES + content.length + reason.length
      const texts = [kind, content, unitNs, serialNumberPrefix, hash('sha256', key, 'buffer')]
      keep.run(userId, tokenId, ...texts, reason, ...times, bytes)
    }
    for (const userId of new Set(refused.map((entry) => entry.userId))) this.#makeRoom(userId)
  }

  noteAgain(again: readonly Pick<RefusedEntry, 'id' | 'reason'>[]): void {
    const note = this.#db.prepare(NOTE_AGAIN)
    for (const { id, reason } of again) note.run(reason, id)
  }

  /** @param ids `undefined`: all */
  drop(ids: readonly number[] | undefined): number {
    if (ids === undefined) return this.#db.prepare(DROP_ALL).run().changes
    const drop = this.#db.prepare(DROP)
    return ids.reduce((dropped, id) => dropped + drop.run(id).changes, 0)
  }

  #makeRoom(userId: number): void {
    const ofUser = this.#db.prepare<[number], number>(BYTES_OF_USER).pluck()
    const ofAll = this.#db.prepare<[], number>(BYTES_OF_ALL).pluck()
    const dropOldest = this.#db.prepare(DROP_OLDEST)
    const countDropped = this.#db.prepare(COUNT_DROPPED)
    const isTooMuch = () =>
      (ofUser.get(userId) ?? 0) > refusedUserBytesMax || (ofAll.get() ?? 0) > refusedBytesMax
    while (isTooMuch() && dropOldest.run(userId).changes > 0) countDropped.run(userId)
  }
}
