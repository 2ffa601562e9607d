// Series without a temperature, and the tokens that have stored measurements by line protocol, as
// rows of control.db.

import { hash } from 'node:crypto'
import { skippedSeriesMax } from '../../domain/limits.ts'
import type { SkippedEntry, SkippedSeries } from '../../ports/refused.ts'
import type { Connection } from '../database.ts'

// Their user may be deleted by now.
const NOTE = `
  INSERT INTO skipped_series (user_id, series_hash, line, count, last_at_ms)
  SELECT id, ?, ?, ?, ? FROM users WHERE id = ?
  ON CONFLICT (user_id, series_hash) DO UPDATE SET
    line = excluded.line, count = count + excluded.count, last_at_ms = excluded.last_at_ms`
const MAKE_ROOM = `
  DELETE FROM skipped_series WHERE user_id = ? AND series_hash IN (
    SELECT series_hash FROM skipped_series WHERE user_id = ?
    ORDER BY last_at_ms DESC, series_hash LIMIT -1 OFFSET ?)`
const LIST = `
  SELECT s.user_id AS userId, u.email AS userEmail, s.line, s.count, s.last_at_ms AS lastAtMs
  FROM skipped_series s JOIN users u ON u.id = s.user_id`
const IN_ORDER = 'ORDER BY s.user_id, s.last_at_ms DESC, s.series_hash LIMIT ?'
const COUNT = 'SELECT count(*) FROM skipped_series s'
const OF_USER = 'WHERE s.user_id = ?'
const NOTE_TOKEN = `
  INSERT OR IGNORE INTO line_tokens (token_id) SELECT id FROM access_tokens WHERE id = ?`
const HAS_TOKEN = 'SELECT count(*) FROM line_tokens WHERE token_id = ?'

export class SkippedRows {
  readonly #db: Connection

  constructor(db: Connection) {
    this.#db = db
  }

  note(skipped: readonly SkippedSeries[]): void {
    const note = this.#db.prepare(NOTE)
    for (const { userId, series, line, count, lastAtMs } of skipped) {
      note.run(hash('sha256', series, 'buffer'), line, count, lastAtMs, userId)
    }
    const makeRoom = this.#db.prepare(MAKE_ROOM)
    for (const userId of new Set(skipped.map((each) => each.userId))) {
      makeRoom.run(userId, userId, skippedSeriesMax)
    }
  }

  /** @param userId `undefined`: of all users */
  list(limit: number, userId: number | undefined): SkippedEntry[] {
    if (userId === undefined) {
      return this.#db.prepare<[number], SkippedEntry>(`${LIST} ${IN_ORDER}`).all(limit)
    }
    const ofUser = `${LIST} ${OF_USER} ${IN_ORDER}`
    return this.#db.prepare<[number, number], SkippedEntry>(ofUser).all(userId, limit)
  }

  /** @param userId `undefined`: of all users */
  count(userId: number | undefined): number {
    const counted =
      userId === undefined
        ? this.#db.prepare<[], number>(COUNT).pluck().get()
        : this.#db.prepare<[number], number>(`${COUNT} ${OF_USER}`).pluck().get(userId)
    return counted ?? 0
  }

  noteToken(tokenId: number): void {
    this.#db.prepare(NOTE_TOKEN).run(tokenId)
  }

  hasToken(tokenId: number): boolean {
    return this.#db.prepare<[number], number>(HAS_TOKEN).pluck().get(tokenId) === 1
  }
}
