// Series without a temperature, and the tokens that have stored one by line protocol.

import { hash } from 'node:crypto'
import { skippedSeriesMax } from '../../domain/limits.ts'
import type { SkippedEntry, SkippedSeries } from '../../ports/refused.ts'
import type { Sql } from '../database.ts'

// Their user may be deleted by now.
const NOTE = `
  INSERT INTO skipped_series AS s (user_id, series_hash, line, count, last_at_ms)
  SELECT id, $2::bytea, $3::bytea, $4::bigint, $5::bigint FROM users WHERE id = $1 FOR KEY SHARE
  ON CONFLICT (user_id, series_hash) DO UPDATE SET
    line = excluded.line, count = s.count + excluded.count, last_at_ms = excluded.last_at_ms`
const MAKE_ROOM = `
  DELETE FROM skipped_series WHERE user_id = $1 AND series_hash IN (
    SELECT series_hash FROM skipped_series WHERE user_id = $1
    ORDER BY last_at_ms DESC, series_hash OFFSET $2)`
const LIST = `
  SELECT s.user_id AS "userId", u.email AS "userEmail", s.line, s.count,
    s.last_at_ms AS "lastAtMs"
  FROM skipped_series s JOIN users u ON u.id = s.user_id
  WHERE $2::int IS NULL OR s.user_id = $2
  ORDER BY s.user_id, s.last_at_ms DESC, s.series_hash LIMIT $1`
const COUNT = `
  SELECT count(*) AS count FROM skipped_series WHERE $1::int IS NULL OR user_id = $1`

type SkippedRow = Omit<SkippedEntry, 'line'> & { readonly line: Buffer }

export async function noteSkipped(sql: Sql, skipped: readonly SkippedSeries[]): Promise<void> {
  const rows = skipped.map((one) => ({ ...one, key: hash('sha256', one.series, 'buffer') }))
  // Always locked in the same order, so that no two transactions deadlock.
  rows.sort((one, other) => one.userId - other.userId || one.key.compare(other.key))
  for (const { userId, key, line, count, lastAtMs } of rows) {
    await sql.change(NOTE, [userId, key, Buffer.from(line), count, lastAtMs])
  }
  for (const userId of new Set(rows.map((one) => one.userId))) {
    await sql.change(MAKE_ROOM, [userId, skippedSeriesMax])
  }
}

/** @param userId `undefined`: of all users */
export async function listSkipped(
  sql: Sql,
  limit: number,
  userId: number | undefined,
): Promise<SkippedEntry[]> {
  const rows = await sql.rows<SkippedRow>(LIST, [limit, userId ?? null])
  return rows.map((row) => ({ ...row, line: row.line.toString('utf8') }))
}

/** @param userId `undefined`: of all users */
export async function countSkipped(sql: Sql, userId: number | undefined): Promise<number> {
  const [row] = await sql.rows<{ count: number }>(COUNT, [userId ?? null])
  return row?.count ?? 0
}
