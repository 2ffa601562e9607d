// What was refused, as rows. The bytes of each user are kept beside them, so that a limit costs no
// scan; that row is the lock of a user's entries.

import { hash } from 'node:crypto'
import { refusedBytesMax, refusedUserBytesMax } from '../../domain/limits.ts'
import type { Refused, RefusedEntry } from '../../ports/refused.ts'
import type { Sql } from '../database.ts'

/** What a row takes beside its texts. */
const ROW_BYTES = 256

const LOCK_TOTAL = `
  INSERT INTO refused_totals AS t (user_id) VALUES ($1)
  ON CONFLICT (user_id) DO UPDATE SET bytes = t.bytes`
// Of a new row the count is one.
const KEEP = `
  INSERT INTO refused AS r
    (user_id, token_id, kind, content, unit_ns, serial_number_prefix, content_hash, reason,
     received_at_ms, retry_at_ms, bytes)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
  ON CONFLICT (user_id, content_hash) DO UPDATE SET
    token_id = excluded.token_id, reason = excluded.reason, count = r.count + 1,
    received_at_ms = excluded.received_at_ms, retry_at_ms = excluded.retry_at_ms
  RETURNING count`
const COLUMNS = `
  id, user_id AS "userId", token_id AS "tokenId", kind, content, unit_ns AS "unitNs",
  serial_number_prefix AS "serialNumberPrefix", reason,
  received_at_ms AS "receivedAtMs", retry_at_ms AS "retryAtMs", count`
const LIST = `SELECT ${COLUMNS} FROM refused WHERE id > $1 ORDER BY id LIMIT $2`
const DUE = `
  SELECT ${COLUMNS} FROM refused WHERE retry_at_ms <= $1 ORDER BY retry_at_ms LIMIT $2`
const COUNT = `
  SELECT (SELECT count(*) FROM refused) AS count,
    (SELECT coalesce(sum(dropped), 0)::bigint FROM refused_totals) AS dropped`
const ADD_BYTES = `
  UPDATE refused_totals SET bytes = bytes + $2, dropped = dropped + $3 WHERE user_id = $1`
const TOTALS = `
  SELECT (SELECT bytes FROM refused_totals WHERE user_id = $1) AS "ofUser",
    (SELECT sum(bytes)::bigint FROM refused_totals) AS "ofAll"`
const DROP_OLDEST = `
  DELETE FROM refused WHERE id = (SELECT min(id) FROM refused WHERE user_id = $1)
  RETURNING bytes`
const NOTE_AGAIN = 'UPDATE refused SET reason = $2, retry_at_ms = NULL WHERE id = $1'
const DROP = `
  DELETE FROM refused WHERE $1::bigint[] IS NULL OR id = ANY ($1)
  RETURNING user_id AS "userId", bytes`

type RefusedRow = Omit<RefusedEntry, 'content'> & { readonly content: Buffer }

export async function listRefused(
  sql: Sql,
  afterId: number,
  limit: number,
): Promise<RefusedEntry[]> {
  return (await sql.rows<RefusedRow>(LIST, [afterId, limit])).map(toEntry)
}

export async function listDueRefused(
  sql: Sql,
  nowMs: number,
  limit: number,
): Promise<RefusedEntry[]> {
  return (await sql.rows<RefusedRow>(DUE, [nowMs, limit])).map(toEntry)
}

export async function countRefused(sql: Sql): Promise<{ count: number; dropped: number }> {
  const [counts] = await sql.rows<{ count: number; dropped: number }>(COUNT)
  return counts ?? { count: 0, dropped: 0 }
}

export async function keepRefused(sql: Sql, refused: readonly Refused[]): Promise<void> {
  const userIds = [...new Set(refused.map(({ userId }) => userId))].toSorted((a, b) => a - b)
  for (const userId of userIds) await sql.change(LOCK_TOTAL, [userId])
  for (const entry of refused) await keepOne(sql, entry)
  for (const userId of userIds) await makeRoom(sql, userId)
}

export async function noteRefusedAgain(
  sql: Sql,
  again: readonly Pick<RefusedEntry, 'id' | 'reason'>[],
): Promise<void> {
  for (const { id, reason } of again.toSorted((one, other) => one.id - other.id)) {
    await sql.change(NOTE_AGAIN, [id, reason])
  }
}

/** @param ids `undefined`: all */
export async function dropRefused(sql: Sql, ids: readonly number[] | undefined): Promise<number> {
  const gone = await sql.rows<{ userId: number; bytes: number }>(DROP, [ids ?? null])
  const bytesOf = new Map<number, number>()
  for (const { userId, bytes } of gone) bytesOf.set(userId, (bytesOf.get(userId) ?? 0) + bytes)
  for (const [userId, bytes] of bytesOf) await sql.change(ADD_BYTES, [userId, -bytes, 0])
  return gone.length
}

async function keepOne(sql: Sql, entry: Refused): Promise<void> {
  const { userId, tokenId, kind, unitNs, serialNumberPrefix, reason } = entry
  const key = JSON.stringify([kind, entry.content, unitNs, serialNumberPrefix])
  const content = Buffer.from(entry.content)
  const bytes = ROW_BYTES + content.length + reason.length
  const what = [kind, content, unitNs, serialNumberPrefix, hash('sha256', key, 'buffer'), reason]
  const values = [userId, tokenId, ...what, entry.receivedAtMs, entry.retryAtMs, bytes]
  const [kept] = await sql.rows<{ count: number }>(KEEP, values)
  if (kept?.count === 1) await sql.change(ADD_BYTES, [userId, bytes, 0])
}

async function makeRoom(sql: Sql, userId: number): Promise<void> {
  for (;;) {
    const [totals] = await sql.rows<{ ofUser: number; ofAll: number }>(TOTALS, [userId])
    const isTooMuch =
      (totals?.ofUser ?? 0) > refusedUserBytesMax || (totals?.ofAll ?? 0) > refusedBytesMax
    if (!isTooMuch) return
    const [oldest] = await sql.rows<{ bytes: number }>(DROP_OLDEST, [userId])
    if (oldest === undefined) return
    await sql.change(ADD_BYTES, [userId, -oldest.bytes, 1])
  }
}

function toEntry({ content, ...row }: RefusedRow): RefusedEntry {
  return { ...row, content: content.toString('utf8') }
}
