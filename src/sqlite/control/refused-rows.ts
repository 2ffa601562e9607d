// Refused entries as rows of control.db. Triggers keep the number of bytes per user, so checking a
// limit needs no scan.

import { refusedBytesMax, refusedUserBytesMax } from '../../domain/limits.ts'
import { refusedEntryBytes, refusedKey, refusedShare } from '../../domain/refused.ts'
import type {
  Refused,
  RefusedCounts,
  RefusedEntry,
  RefusedListing,
  RefusedRetry,
} from '../../ports/refused.ts'
import type { Connection } from '../database.ts'

// Their user may be deleted by now.
const KEEP = `
  INSERT INTO refused
    (user_id, token_id, kind, content, fields, unit_ns, serial_number_prefix, content_hash, reason,
     received_at_ms, retry_at_ms, bytes)
  SELECT id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM users WHERE id = ?
  ON CONFLICT (user_id, content_hash) DO UPDATE SET
    token_id = excluded.token_id, reason = excluded.reason, count = count + 1,
    received_at_ms = excluded.received_at_ms, retry_at_ms = excluded.retry_at_ms,
    bytes = excluded.bytes`
const ENTRIES = `
  SELECT r.id, r.user_id AS userId, u.email AS userEmail, r.token_id AS tokenId,
    ifnull(t.name, '') AS tokenName, r.kind, r.content, r.fields, r.unit_ns AS unitNs,
    r.serial_number_prefix AS serialNumberPrefix, r.reason, r.received_at_ms AS receivedAtMs,
    r.retry_at_ms AS retryAtMs, r.count
  FROM refused r JOIN users u ON u.id = r.user_id LEFT JOIN access_tokens t ON t.id = r.token_id`
const DUE = `${ENTRIES} WHERE r.retry_at_ms <= ? ORDER BY r.retry_at_ms LIMIT ?`
const COUNT = `
  SELECT (SELECT count(*) FROM refused) AS count,
    (SELECT ifnull(sum(dropped), 0) FROM refused_totals) AS dropped`
const COUNT_OF_USER = `
  SELECT (SELECT count(*) FROM refused WHERE user_id = $userId) AS count,
    ifnull((SELECT dropped FROM refused_totals WHERE user_id = $userId), 0) AS dropped`
const SUM_OF_TOTALS = `
  SELECT ifnull(sum(bytes), 0) AS ofAll, ifnull(max(bytes), 0) AS ofLargest FROM refused_totals`
const TOTALS = `
  SELECT user_id AS userId, bytes FROM refused_totals WHERE bytes > 0 ORDER BY bytes DESC`
const DROP_OLDEST = `
  DELETE FROM refused WHERE id = (SELECT min(id) FROM refused WHERE user_id = ?) RETURNING bytes`
const COUNT_DROPPED = 'UPDATE refused_totals SET dropped = dropped + 1 WHERE user_id = ?'
const NOTE_AGAIN = `
  UPDATE refused SET reason = $reason, retry_at_ms = $retryAtMs,
    bytes = bytes - length(CAST(reason AS BLOB)) + length(CAST($reason AS BLOB))
  WHERE id = $id AND count = $count`
const DROP_STORED = 'DELETE FROM refused WHERE id = ? AND count = ?'
const DROP = 'DELETE FROM refused WHERE id = ?'
const DROP_ALL = 'DELETE FROM refused'

type RefusedRow = Omit<RefusedEntry, 'fields'> & { readonly fields: string | null }

export class RefusedRows {
  readonly #db: Connection

  constructor(db: Connection) {
    this.#db = db
  }

  list({ userId, isOldestFirst, afterId, limit }: RefusedListing): RefusedEntry[] {
    const conditions: string[] = []
    const values: number[] = []
    const add = (condition: string, value: number | undefined) => {
      if (value === undefined) return
      conditions.push(condition)
      values.push(value)
    }
    add('r.user_id = ?', userId)
    add(isOldestFirst ? 'r.id > ?' : 'r.id < ?', afterId)
    const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
    const order = `ORDER BY r.id ${isOldestFirst ? 'ASC' : 'DESC'} LIMIT ?`
    const list = this.#db.prepare<number[], RefusedRow>(`${ENTRIES} ${where} ${order}`)
    return list.all(...values, limit).map(toEntry)
  }

  due(nowMs: number, limit: number): RefusedEntry[] {
    return this.#db.prepare<[number, number], RefusedRow>(DUE).all(nowMs, limit).map(toEntry)
  }

  /** @param userId `undefined`: of all users */
  count(userId: number | undefined): RefusedCounts {
    const counts =
      userId === undefined
        ? this.#db.prepare<[], RefusedCounts>(COUNT).get()
        : this.#db.prepare<[{ userId: number }], RefusedCounts>(COUNT_OF_USER).get({ userId })
    return counts ?? { count: 0, dropped: 0 }
  }

  keep(refused: readonly Refused[]): void {
    const keep = this.#db.prepare(KEEP)
    for (const entry of refused) {
      const { userId, tokenId, kind, content, unitNs, serialNumberPrefix, reason } = entry
      const fields = entry.fields && JSON.stringify(entry.fields)
      const texts = [kind, content, fields, unitNs, serialNumberPrefix, refusedKey(entry), reason]
      const times = [entry.receivedAtMs, entry.retryAtMs]
      keep.run(tokenId, ...texts, ...times, refusedEntryBytes(entry), userId)
    }
    this.#makeRoom()
  }

  /** @returns how many are deleted */
  noteRetries(retries: readonly RefusedRetry[]): number {
    const drop = this.#db.prepare(DROP_STORED)
    const note = this.#db.prepare(NOTE_AGAIN)
    let deleted = 0
    for (const { id, count, reason, retryAtMs } of retries) {
      if (reason === undefined) deleted += drop.run(id, count).changes
      else note.run({ id, count, reason, retryAtMs })
    }
    this.#makeRoom()
    return deleted
  }

  /** @param ids `undefined`: all */
  drop(ids: readonly number[] | undefined): number {
    if (ids === undefined) return this.#db.prepare(DROP_ALL).run().changes
    const drop = this.#db.prepare(DROP)
    return ids.reduce((dropped, id) => dropped + drop.run(id).changes, 0)
  }

  #makeRoom(): void {
    const sums = this.#db.prepare<[], { ofAll: number; ofLargest: number }>(SUM_OF_TOTALS).get()
    let { ofAll, ofLargest } = sums ?? { ofAll: 0, ofLargest: 0 }
    if (ofAll <= refusedBytesMax && ofLargest <= refusedUserBytesMax) return
    const totals = this.#db.prepare<[], { userId: number; bytes: number }>(TOTALS).all()
    const share = refusedShare(totals.map(({ bytes }) => bytes))
    const dropOldest = this.#db.prepare<[number], number>(DROP_OLDEST).pluck()
    const countDropped = this.#db.prepare(COUNT_DROPPED)
    for (const { userId, bytes } of totals) {
      let ofUser = bytes
      while (ofUser > refusedUserBytesMax || (ofUser > share && ofAll > refusedBytesMax)) {
        const dropped = dropOldest.get(userId)
        if (dropped === undefined) break
        countDropped.run(userId)
        ofUser -= dropped
        ofAll -= dropped
      }
    }
  }
}

function toEntry({ fields, ...row }: RefusedRow): RefusedEntry {
  return { ...row, fields: fields === null ? null : (JSON.parse(fields) as number[]) }
}
