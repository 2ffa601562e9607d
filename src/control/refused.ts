// What can never be stored as it is, as rows: refused entries, and series of line protocol without
// a temperature. Each user's bytes are stored as well, so that checking a limit needs no scan; that
// row also locks a user's entries. Locks are always taken in the same order: users, totals by user,
// entries.

import { hash } from 'node:crypto'
import { refusedBytesMax, refusedUserBytesMax, skippedSeriesMax } from '../domain/limits.ts'
import { refusedEntryBytes, refusedKey, refusedShare } from '../domain/refused.ts'
import type {
  AheadRefused,
  Refused,
  RefusedCounts,
  RefusedEntry,
  RefusedListing,
  RefusedRetry,
  SkippedEntry,
  SkippedSeries,
} from '../ports/refused.ts'
import { allBehind, change, counted, row, rows } from './flow.ts'
import type { Flow } from './flow.ts'

// Inserts nothing for a user deleted meanwhile. Deleting a user locks the user first.
const BEGIN_TOTAL = `
  INSERT INTO refused_totals (user_id, bytes)
  SELECT id, 0 FROM users WHERE id = $1 FOR KEY SHARE
  ON CONFLICT (user_id) DO UPDATE SET bytes = refused_totals.bytes`
const KNOWN = 'SELECT bytes FROM refused WHERE user_id = $1 AND content_hash = $2'
const KEEP = `
  INSERT INTO refused
    (user_id, token_id, kind, content, fields, unit_ns, serial_number_prefix, content_hash, reason,
     received_at_ms, ahead_at_ms, bytes, count)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
  ON CONFLICT (user_id, content_hash) DO UPDATE SET
    token_id = excluded.token_id, reason = excluded.reason, count = refused.count + excluded.count,
    received_at_ms = excluded.received_at_ms, ahead_at_ms = excluded.ahead_at_ms,
    bytes = excluded.bytes`
const ENTRIES = `
  SELECT r.id, r.user_id AS "userId", u.email AS "userEmail", r.token_id AS "tokenId",
    coalesce(t.name, '') AS "tokenName", r.kind, r.content, r.fields, r.unit_ns AS "unitNs",
    r.serial_number_prefix AS "serialNumberPrefix", r.reason, r.received_at_ms AS "receivedAtMs",
    r.ahead_at_ms AS "aheadAtMs", r.count
  FROM refused r JOIN users u ON u.id = r.user_id LEFT JOIN access_tokens t ON t.id = r.token_id`
const AHEAD = `
  ${ENTRIES}
  WHERE r.id > $1 AND r.id <= $2 AND r.ahead_at_ms - r.received_at_ms <= $3
  ORDER BY r.id LIMIT $4`
const COUNT = `
  SELECT (SELECT count(*) FROM refused) AS count,
    (SELECT CAST(coalesce(sum(dropped), 0) AS bigint) FROM refused_totals) AS dropped`
const COUNT_OF_USER = `
  SELECT (SELECT count(*) FROM refused WHERE user_id = $1) AS count,
    coalesce((SELECT dropped FROM refused_totals WHERE user_id = $1), 0) AS dropped`
const SUM_OF_TOTALS = `
  SELECT CAST(coalesce(sum(bytes), 0) AS bigint) AS "ofAll", coalesce(max(bytes), 0) AS "ofLargest"
  FROM refused_totals`
const TOTALS = `
  SELECT user_id AS "userId", bytes FROM refused_totals WHERE bytes > 0 ORDER BY user_id`
const HOLD_TOTAL = `
  SELECT user_id AS "userId", bytes FROM refused_totals WHERE user_id = $1 FOR UPDATE`
const OLDEST = 'SELECT id, bytes FROM refused WHERE user_id = $1 ORDER BY id LIMIT $2'
const DROP_OLDEST = 'DELETE FROM refused WHERE user_id = $1 AND id <= $2'
const ADD_TO_TOTAL = `
  UPDATE refused_totals SET bytes = bytes + $2, dropped = dropped + $3 WHERE user_id = $1`
const OWNERS = 'SELECT DISTINCT user_id AS "userId" FROM refused ORDER BY user_id'
const OWNER = 'SELECT user_id AS "userId" FROM refused WHERE id = $1'
const AS_RETRIED =
  'SELECT user_id AS "userId", reason, bytes FROM refused WHERE id = $1 AND count = $2'
const NOTE_AGAIN = 'UPDATE refused SET reason = $2, bytes = $3 WHERE id = $1'
const DROP = 'DELETE FROM refused WHERE id = $1'
const DROP_AND_TELL = `${DROP} RETURNING user_id AS "userId", -bytes AS bytes`
const DROP_ALL = 'DELETE FROM refused WHERE user_id = $1'
const EMPTY_TOTAL = 'UPDATE refused_totals SET bytes = 0 WHERE user_id = $1'

const KEEP_USER = 'SELECT 1 FROM users WHERE id = $1 FOR KEY SHARE'
const NOTE_SKIPPED = `
  INSERT INTO skipped_series (user_id, series_hash, line, count, last_at_ms)
  VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (user_id, series_hash) DO UPDATE SET line = excluded.line,
    count = skipped_series.count + excluded.count, last_at_ms = excluded.last_at_ms`
const DROP_LONGEST_UNSEEN = `
  DELETE FROM skipped_series WHERE user_id = $1 AND series_hash IN (
    SELECT series_hash FROM skipped_series WHERE user_id = $1
    ORDER BY last_at_ms DESC, series_hash ${allBehind(skippedSeriesMax)})`
const SKIPPED = `
  SELECT s.user_id AS "userId", u.email AS "userEmail", s.line, s.count,
    s.last_at_ms AS "lastAtMs"
  FROM skipped_series s JOIN users u ON u.id = s.user_id`
const SKIPPED_ORDER = 'ORDER BY s.user_id, s.last_at_ms DESC, s.series_hash LIMIT $1'
const COUNT_SKIPPED = 'SELECT count(*) AS count FROM skipped_series'
const HAS_STORED_LINES = 'SELECT 1 FROM access_tokens WHERE id = $1 AND has_stored_lines'
const NOTE_STORED_LINES = `
  UPDATE access_tokens SET has_stored_lines = true WHERE id = $1 AND NOT has_stored_lines`

const DROPPED_AT_ONCE = 1_000

type RefusedRow = Omit<RefusedEntry, 'content' | 'fields'> & {
  readonly content: Buffer
  readonly fields: string | null
}

type SkippedRow = Omit<SkippedEntry, 'line'> & { readonly line: Buffer }

/** A user's total, or its change. */
interface Total {
  readonly userId: number
  readonly bytes: number
}

export function* listRefused({
  userId,
  isOldestFirst,
  afterId,
  limit,
}: RefusedListing): Flow<readonly RefusedEntry[]> {
  const conditions: string[] = []
  const values = [limit]
  const add = (condition: string, value: number | undefined) => {
    if (value !== undefined) conditions.push(`${condition} $${values.push(value)}`)
  }
  add('r.user_id =', userId)
  add(isOldestFirst ? 'r.id >' : 'r.id <', afterId)
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  const order = `ORDER BY r.id ${isOldestFirst ? 'ASC' : 'DESC'} LIMIT $1`
  return (yield* rows<RefusedRow>(`${ENTRIES} ${where} ${order}`, ...values)).map(toEntry)
}

export function* listAheadRefused(
  { afterId, throughId, aheadMsMax }: AheadRefused,
  limit: number,
): Flow<readonly RefusedEntry[]> {
  const found = yield* rows<RefusedRow>(AHEAD, afterId, throughId, aheadMsMax, limit)
  return found.map(toEntry)
}

/** @param userId `undefined`: all users */
export function* countRefused(userId?: number): Flow<RefusedCounts> {
  const counts =
    userId === undefined
      ? yield* row<RefusedCounts>(COUNT)
      : yield* row<RefusedCounts>(COUNT_OF_USER, userId)
  return counts ?? { count: 0, dropped: 0 }
}

/** Keeps entries; `makeRoomForRefused` then enforces the limits. */
export function* keepRefused(refused: readonly Refused[]): Flow<void> {
  const ofUsers = [...Map.groupBy(refused, ({ userId }) => userId)]
  ofUsers.sort(([one], [other]) => one - other)
  const known: number[] = []
  for (const [userId] of ofUsers) {
    if ((yield* change(BEGIN_TOTAL, userId)) > 0) known.push(userId)
  }
  for (const [userId, entries] of ofUsers) {
    if (!known.includes(userId)) continue
    let more = 0
    for (const entry of entries) more += yield* keep(entry)
    yield* change(ADD_TO_TOTAL, userId, more, 0)
  }
}

/** @returns the change of its user's bytes */
function* keep(entry: Refused): Flow<number> {
  const { userId, tokenId, kind, unitNs, serialNumberPrefix, reason } = entry
  const key = refusedKey(entry)
  const known = yield* row<{ bytes: number }>(KNOWN, userId, key)
  const fields = entry.fields && JSON.stringify(entry.fields)
  const texts = [kind, Buffer.from(entry.content), fields, unitNs, serialNumberPrefix, key, reason]
  const bytes = refusedEntryBytes(entry)
  const { receivedAtMs, aheadAtMs, count } = entry
  yield* change(KEEP, userId, tokenId, ...texts, receivedAtMs, aheadAtMs, bytes, count)
  return bytes - (known?.bytes ?? 0)
}

/**
 * Needs a transaction of its own: it drops entries of other users than those who have just kept
 * some, so continuing in their transaction could break the order of locks.
 */
export function* makeRoomForRefused(): Flow<void> {
  const { ofAll, ofLargest } = yield* sumTotals()
  if (ofAll <= refusedBytesMax && ofLargest <= refusedUserBytesMax) return
  const totals = yield* rows<Total>(TOTALS)
  const share = refusedShare(totals.map(({ bytes }) => bytes))
  const larger = totals.filter(({ bytes }) => bytes > share)
  const held = yield* holdTotals(larger.map(({ userId }) => userId))
  // Another process may have made room before the locks were taken.
  let tooMuch = (yield* sumTotals()).ofAll - refusedBytesMax
  for (const { userId, bytes } of held.toSorted((one, other) => other.bytes - one.bytes)) {
    const ofUser = Math.max(bytes - refusedUserBytesMax, Math.min(tooMuch, bytes - share))
    tooMuch -= yield* dropOldest(userId, ofUser)
  }
}

/** @returns how many are deleted */
export function* noteRefusedRetries(retries: readonly RefusedRetry[]): Flow<number> {
  yield* holdTotals(yield* ownersOf(retries))
  const changes: Total[] = []
  let deleted = 0
  for (const { id, count, reason } of retries) {
    const entry = yield* row<Total & { readonly reason: string }>(AS_RETRIED, id, count)
    if (entry === undefined) continue
    const { userId } = entry
    if (reason === undefined) {
      deleted += yield* change(DROP, id)
      changes.push({ userId, bytes: -entry.bytes })
      continue
    }
    const more = Buffer.byteLength(reason) - Buffer.byteLength(entry.reason)
    yield* change(NOTE_AGAIN, id, reason, entry.bytes + more)
    changes.push({ userId, bytes: more })
  }
  yield* addToTotals(changes)
  return deleted
}

/** @param ids `undefined`: all */
export function* dropRefused(ids: readonly number[] | undefined): Flow<number> {
  if (ids === undefined) return yield* dropAll()
  const entries = ids.map((id) => ({ id }))
  yield* holdTotals(yield* ownersOf(entries))
  const gone: Total[] = []
  for (const { id } of entries) {
    const entry = yield* row<Total>(DROP_AND_TELL, id)
    if (entry !== undefined) gone.push(entry)
  }
  yield* addToTotals(gone)
  return gone.length
}

function* dropAll(): Flow<number> {
  const owners = yield* rows<{ userId: number }>(OWNERS)
  let dropped = 0
  for (const { userId } of yield* holdTotals(owners.map((owner) => owner.userId))) {
    dropped += yield* change(DROP_ALL, userId)
    yield* change(EMPTY_TOTAL, userId)
  }
  return dropped
}

export function* noteSkipped(skipped: readonly SkippedSeries[]): Flow<void> {
  const seen = skipped.map((one) => ({ ...one, key: hash('sha256', one.series, 'buffer') }))
  // Always locked in the same order, so that no two transactions deadlock.
  seen.sort((one, other) => one.userId - other.userId || one.key.compare(other.key))
  for (const [userId, ofUser] of Map.groupBy(seen, (one) => one.userId)) {
    // The user may have been deleted.
    if ((yield* row(KEEP_USER, userId)) === undefined) continue
    for (const { key, line, count, lastAtMs } of ofUser) {
      yield* change(NOTE_SKIPPED, userId, key, Buffer.from(line), count, lastAtMs)
    }
    yield* change(DROP_LONGEST_UNSEEN, userId)
  }
}

/** @param userId `undefined`: of all users */
export function* listSkipped(limit: number, userId?: number): Flow<readonly SkippedEntry[]> {
  const found =
    userId === undefined
      ? yield* rows<SkippedRow>(`${SKIPPED} ${SKIPPED_ORDER}`, limit)
      : yield* rows<SkippedRow>(`${SKIPPED} WHERE s.user_id = $2 ${SKIPPED_ORDER}`, limit, userId)
  return found.map((one) => ({ ...one, line: one.line.toString('utf8') }))
}

/** @param userId `undefined`: of all users */
export function* countSkipped(userId?: number): Flow<number> {
  return userId === undefined
    ? yield* counted(COUNT_SKIPPED)
    : yield* counted(`${COUNT_SKIPPED} WHERE user_id = $1`, userId)
}

/** Whether the token has ever stored a temperature by line protocol. */
export function* hasStoredLines(tokenId: number): Flow<boolean> {
  return (yield* row(HAS_STORED_LINES, tokenId)) !== undefined
}

export function* noteStoredLines(tokenId: number): Flow<void> {
  yield* change(NOTE_STORED_LINES, tokenId)
}

function* ownersOf(entries: readonly { readonly id: number }[]): Flow<readonly number[]> {
  const owners = new Set<number>()
  for (const { id } of entries) {
    const owner = yield* row<{ userId: number }>(OWNER, id)
    if (owner !== undefined) owners.add(owner.userId)
  }
  return [...owners]
}

function* holdTotals(userIds: readonly number[]): Flow<readonly Total[]> {
  const held: Total[] = []
  for (const userId of userIds.toSorted((one, other) => one - other)) {
    const total = yield* row<Total>(HOLD_TOTAL, userId)
    if (total !== undefined) held.push(total)
  }
  return held
}

function* sumTotals(): Flow<{ readonly ofAll: number; readonly ofLargest: number }> {
  const sums = yield* row<{ ofAll: number; ofLargest: number }>(SUM_OF_TOTALS)
  return sums ?? { ofAll: 0, ofLargest: 0 }
}

function* addToTotals(changes: readonly Total[]): Flow<void> {
  for (const [userId, ofUser] of Map.groupBy(changes, (one) => one.userId)) {
    const bytes = ofUser.reduce((sum, one) => sum + one.bytes, 0)
    yield* change(ADD_TO_TOTAL, userId, bytes, 0)
  }
}

/** Drops at least this many bytes of a user. @returns how many entries were dropped */
function* dropOldest(userId: number, bytesMin: number): Flow<number> {
  let dropped = 0
  while (dropped < bytesMin) {
    const oldest = yield* rows<{ id: number; bytes: number }>(OLDEST, userId, DROPPED_AT_ONCE)
    if (oldest.length === 0) break
    let count = 0
    let bytes = 0
    while (count < oldest.length && dropped + bytes < bytesMin) bytes += oldest[count++]!.bytes
    yield* change(DROP_OLDEST, userId, oldest[count - 1]!.id)
    yield* change(ADD_TO_TOTAL, userId, -bytes, count)
    dropped += bytes
  }
  return dropped
}

function toEntry({ content, fields, ...entry }: RefusedRow): RefusedEntry {
  const numbers = fields === null ? null : (JSON.parse(fields) as number[])
  return { ...entry, content: content.toString('utf8'), fields: numbers }
}
