// Series of line protocol without a temperature, as rows.

import { hash } from 'node:crypto'
import { skippedSeriesMax } from '../domain/limits.ts'
import type { SkippedEntry, SkippedSeries } from '../ports/refused.ts'
import { allBehind, change, counted, row, rows } from './flow.ts'
import type { Flow } from './flow.ts'

const KEEP_USER = 'SELECT 1 FROM users WHERE id = $1 FOR KEY SHARE'
const NOTE = `
  INSERT INTO skipped_series (user_id, series_hash, line, count, last_at_ms)
  VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (user_id, series_hash) DO UPDATE SET line = excluded.line,
    count = skipped_series.count + excluded.count, last_at_ms = excluded.last_at_ms`
const MAKE_ROOM = `
  DELETE FROM skipped_series WHERE user_id = $1 AND series_hash IN (
    SELECT series_hash FROM skipped_series WHERE user_id = $1
    ORDER BY last_at_ms DESC, series_hash ${allBehind(skippedSeriesMax)})`
const LIST = `
  SELECT s.user_id AS "userId", u.email AS "userEmail", s.line, s.count,
    s.last_at_ms AS "lastAtMs"
  FROM skipped_series s JOIN users u ON u.id = s.user_id`
const IN_ORDER = 'ORDER BY s.user_id, s.last_at_ms DESC, s.series_hash LIMIT $1'
const COUNT = 'SELECT count(*) AS count FROM skipped_series'

const HAS_STORED_LINES = 'SELECT 1 FROM access_tokens WHERE id = $1 AND has_stored_lines'
const NOTE_STORED_LINES = `
  UPDATE access_tokens SET has_stored_lines = true WHERE id = $1 AND NOT has_stored_lines`

type SkippedRow = Omit<SkippedEntry, 'line'> & { readonly line: Buffer }

export function* noteSkipped(skipped: readonly SkippedSeries[]): Flow<void> {
  const seen = skipped.map((one) => ({ ...one, key: hash('sha256', one.series, 'buffer') }))
  // Always locked in the same order, so that no two transactions deadlock.
  seen.sort((one, other) => one.userId - other.userId || one.key.compare(other.key))
  for (const [userId, ofUser] of Map.groupBy(seen, (one) => one.userId)) {
    // The user may have been deleted.
    if ((yield* row(KEEP_USER, userId)) === undefined) continue
    for (const { key, line, count, lastAtMs } of ofUser) {
      yield* change(NOTE, userId, key, Buffer.from(line), count, lastAtMs)
    }
    yield* change(MAKE_ROOM, userId)
  }
}

/** @param userId `undefined`: of all users */
export function* listSkipped(limit: number, userId?: number): Flow<readonly SkippedEntry[]> {
  const found =
    userId === undefined
      ? yield* rows<SkippedRow>(`${LIST} ${IN_ORDER}`, limit)
      : yield* rows<SkippedRow>(`${LIST} WHERE s.user_id = $2 ${IN_ORDER}`, limit, userId)
  return found.map((one) => ({ ...one, line: one.line.toString('utf8') }))
}

/** @param userId `undefined`: of all users */
export function* countSkipped(userId?: number): Flow<number> {
  return userId === undefined
    ? yield* counted(COUNT)
    : yield* counted(`${COUNT} WHERE user_id = $1`, userId)
}

/** Whether the token has ever stored a temperature by line protocol. */
export function* hasStoredLines(tokenId: number): Flow<boolean> {
  return (yield* row(HAS_STORED_LINES, tokenId)) !== undefined
}

export function* noteStoredLines(tokenId: number): Flow<void> {
  yield* change(NOTE_STORED_LINES, tokenId)
}
