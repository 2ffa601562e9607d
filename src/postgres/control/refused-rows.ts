// What was refused, as rows. The bytes of each user are kept beside them, so that a limit costs no
// scan; that row is the lock of a user's entries. Locks are taken in one order everywhere: users,
// totals by user, entries.

import { refusedBytesMax, refusedUserBytesMax } from '../../domain/limits.ts'
import { refusedEntryBytes, refusedKey, refusedShare } from '../../domain/refused.ts'
import type {
  Refused,
  RefusedCounts,
  RefusedEntry,
  RefusedListing,
  RefusedRetry,
} from '../../ports/refused.ts'
import type { Sql } from '../database.ts'

// Users too: whoever deletes one locks the user first, then what is kept of theirs.
const LOCK_TOTALS = `
  INSERT INTO refused_totals AS t (user_id)
  SELECT id FROM users WHERE id = ANY ($1::int[]) ORDER BY id FOR KEY SHARE
  ON CONFLICT (user_id) DO UPDATE SET bytes = t.bytes`
// The user may be deleted by now, and has no total then.
const KEEP = `
  WITH known AS (SELECT bytes FROM refused WHERE user_id = $1 AND content_hash = $8),
  kept AS (
    INSERT INTO refused AS r
      (user_id, token_id, kind, content, fields, unit_ns, serial_number_prefix, content_hash,
       reason, received_at_ms, retry_at_ms, bytes)
    SELECT user_id, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12
    FROM refused_totals WHERE user_id = $1
    ON CONFLICT (user_id, content_hash) DO UPDATE SET
      token_id = excluded.token_id, reason = excluded.reason, count = r.count + 1,
      received_at_ms = excluded.received_at_ms, retry_at_ms = excluded.retry_at_ms,
      bytes = excluded.bytes
    RETURNING bytes)
  UPDATE refused_totals
  SET bytes = bytes + (SELECT bytes FROM kept) - coalesce((SELECT bytes FROM known), 0)
  WHERE user_id = $1`
const ENTRIES = `
  SELECT r.id, r.user_id AS "userId", u.email AS "userEmail", r.token_id AS "tokenId",
    coalesce(t.name, '') AS "tokenName", r.kind, r.content, r.fields, r.unit_ns AS "unitNs",
    r.serial_number_prefix AS "serialNumberPrefix", r.reason, r.received_at_ms AS "receivedAtMs",
    r.retry_at_ms AS "retryAtMs", r.count
  FROM refused r JOIN users u ON u.id = r.user_id LEFT JOIN access_tokens t ON t.id = r.token_id`
const DUE = `${ENTRIES} WHERE r.retry_at_ms <= $1 ORDER BY r.retry_at_ms LIMIT $2`
const COUNT = `
  SELECT (SELECT count(*) FROM refused) AS count,
    (SELECT coalesce(sum(dropped), 0)::bigint FROM refused_totals) AS dropped`
const COUNT_OF_USER = `
  SELECT (SELECT count(*) FROM refused WHERE user_id = $1) AS count,
    coalesce((SELECT dropped FROM refused_totals WHERE user_id = $1), 0) AS dropped`
const SUM_OF_TOTALS = `
  SELECT coalesce(sum(bytes), 0)::bigint AS "ofAll", coalesce(max(bytes), 0) AS "ofLargest"
  FROM refused_totals`
const TOTALS = 'SELECT user_id AS "userId", bytes FROM refused_totals WHERE bytes > 0'
const HOLD_TOTALS = `
  SELECT user_id AS "userId", bytes FROM refused_totals
  WHERE user_id = ANY ($1::int[]) ORDER BY user_id FOR UPDATE`
const OLDEST = 'SELECT id, bytes FROM refused WHERE user_id = $1 ORDER BY id LIMIT $2'
const ADD_TO_TOTAL = `
  UPDATE refused_totals SET bytes = bytes + $2, dropped = dropped + $3 WHERE user_id = $1`
const OWNERS = `
  SELECT DISTINCT user_id AS "userId" FROM refused WHERE $1::bigint[] IS NULL OR id = ANY ($1)`
const NOTE_AGAIN = `
  UPDATE refused r SET reason = $3::text, retry_at_ms = $4,
    bytes = r.bytes - octet_length(r.reason) + octet_length($3::text)
  FROM refused known WHERE r.id = $1 AND r.count = $2 AND known.id = r.id
  RETURNING r.user_id AS "userId", r.bytes - known.bytes AS bytes`
const DROP_STORED = `
  DELETE FROM refused WHERE id = $1 AND count = $2
  RETURNING user_id AS "userId", -bytes AS bytes`
const DROP = `
  DELETE FROM refused
  WHERE user_id = ANY ($1::int[]) AND ($2::bigint[] IS NULL OR id = ANY ($2))
  RETURNING user_id AS "userId", -bytes AS bytes`

const DROPPED_AT_ONCE = 1_000

type RefusedRow = Omit<RefusedEntry, 'content' | 'fields'> & {
  readonly content: Buffer
  readonly fields: string | null
}

/** What a user has, or by how much that changes. */
interface Total {
  readonly userId: number
  readonly bytes: number
}

export async function listRefused(
  sql: Sql,
  { userId, isOldestFirst, afterId, limit }: RefusedListing,
): Promise<RefusedEntry[]> {
  const conditions: string[] = []
  const values: number[] = [limit]
  const add = (condition: string, value: number | undefined) => {
    if (value !== undefined) conditions.push(`${condition} $${values.push(value)}`)
  }
  add('r.user_id =', userId)
  add(isOldestFirst ? 'r.id >' : 'r.id <', afterId)
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  const order = `ORDER BY r.id ${isOldestFirst ? 'ASC' : 'DESC'} LIMIT $1`
  return (await sql.rows<RefusedRow>(`${ENTRIES} ${where} ${order}`, values)).map(toEntry)
}

export async function listDueRefused(
  sql: Sql,
  nowMs: number,
  limit: number,
): Promise<RefusedEntry[]> {
  return (await sql.rows<RefusedRow>(DUE, [nowMs, limit])).map(toEntry)
}

/** @param userId `undefined`: of all users */
export async function countRefused(sql: Sql, userId: number | undefined): Promise<RefusedCounts> {
  const [counts] =
    userId === undefined
      ? await sql.rows<RefusedCounts>(COUNT)
      : await sql.rows<RefusedCounts>(COUNT_OF_USER, [userId])
  return counts ?? { count: 0, dropped: 0 }
}

/** Within the limits after `makeRoomForRefused`. */
export async function keepRefused(sql: Sql, refused: readonly Refused[]): Promise<void> {
  await sql.change(LOCK_TOTALS, [[...new Set(refused.map(({ userId }) => userId))]])
  for (const entry of refused) {
    const { userId, tokenId, kind, unitNs, serialNumberPrefix, reason } = entry
    const fields = entry.fields && JSON.stringify(entry.fields)
    const texts = [kind, Buffer.from(entry.content), fields, unitNs, serialNumberPrefix]
    const times = [entry.receivedAtMs, entry.retryAtMs]
    const what = [...texts, refusedKey(entry), reason, ...times, refusedEntryBytes(entry)]
    await sql.change(KEEP, [userId, tokenId, ...what])
  }
}

/**
 * In a transaction of its own: the users who give way are others than those who have just kept
 * something, and what has been locked for these may come behind what is to be locked for those.
 */
export async function makeRoomForRefused(sql: Sql): Promise<void> {
  const { ofAll, ofLargest } = await sumTotals(sql)
  if (ofAll <= refusedBytesMax && ofLargest <= refusedUserBytesMax) return
  const totals = await sql.rows<Total>(TOTALS)
  const share = refusedShare(totals.map(({ bytes }) => bytes))
  const larger = totals.filter(({ bytes }) => bytes > share)
  const held = await holdTotals(
    sql,
    larger.map(({ userId }) => userId),
  )
  // Another process may have made room until they were locked.
  let tooMuch = (await sumTotals(sql)).ofAll - refusedBytesMax
  for (const { userId, bytes } of held) {
    const ofUser = Math.max(bytes - refusedUserBytesMax, Math.min(tooMuch, bytes - share))
    tooMuch -= await dropOldest(sql, userId, ofUser)
  }
}

/** @returns how many are deleted */
export async function noteRefusedRetries(
  sql: Sql,
  retries: readonly RefusedRetry[],
): Promise<number> {
  const ids = retries.map(({ id }) => id)
  await holdTotals(sql, await ownersOf(sql, ids))
  const changes: Total[] = []
  let deleted = 0
  for (const { id, count, reason, retryAtMs } of retries) {
    if (reason !== undefined) {
      changes.push(...(await sql.rows<Total>(NOTE_AGAIN, [id, count, reason, retryAtMs])))
      continue
    }
    const gone = await sql.rows<Total>(DROP_STORED, [id, count])
    deleted += gone.length
    changes.push(...gone)
  }
  await addToTotals(sql, changes)
  return deleted
}

/** @param ids `undefined`: all */
export async function dropRefused(sql: Sql, ids: readonly number[] | undefined): Promise<number> {
  const owners = await ownersOf(sql, ids)
  await holdTotals(sql, owners)
  const gone = await sql.rows<Total>(DROP, [owners, ids ?? null])
  await addToTotals(sql, gone)
  return gone.length
}

async function ownersOf(sql: Sql, ids: readonly number[] | undefined): Promise<number[]> {
  const owners = await sql.rows<{ userId: number }>(OWNERS, [ids ?? null])
  return owners.map(({ userId }) => userId)
}

function holdTotals(sql: Sql, userIds: readonly number[]): Promise<Total[]> {
  return sql.rows<Total>(HOLD_TOTALS, [userIds])
}

async function sumTotals(sql: Sql): Promise<{ ofAll: number; ofLargest: number }> {
  const [sums] = await sql.rows<{ ofAll: number; ofLargest: number }>(SUM_OF_TOTALS)
  return sums ?? { ofAll: 0, ofLargest: 0 }
}

async function addToTotals(sql: Sql, changes: readonly Total[]): Promise<void> {
  for (const [userId, ofUser] of Map.groupBy(changes, (change) => change.userId)) {
    const bytes = ofUser.reduce((sum, change) => sum + change.bytes, 0)
    await sql.change(ADD_TO_TOTAL, [userId, bytes, 0])
  }
}

/** Drops at least so many bytes of a user. @returns how many were dropped */
async function dropOldest(sql: Sql, userId: number, bytesMin: number): Promise<number> {
  let dropped = 0
  while (dropped < bytesMin) {
    const oldest = await sql.rows<{ id: number; bytes: number }>(OLDEST, [userId, DROPPED_AT_ONCE])
    if (oldest.length === 0) break
    const ids: number[] = []
    let bytes = 0
    for (const one of oldest) {
      if (dropped + bytes >= bytesMin) break
      ids.push(one.id)
      bytes += one.bytes
    }
    await sql.change(DROP, [[userId], ids])
    await sql.change(ADD_TO_TOTAL, [userId, -bytes, ids.length])
    dropped += bytes
  }
  return dropped
}

function toEntry({ content, fields, ...row }: RefusedRow): RefusedEntry {
  const numbers = fields === null ? null : (JSON.parse(fields) as number[])
  return { ...row, content: content.toString('utf8'), fields: numbers }
}
