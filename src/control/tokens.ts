// Access tokens as rows.

import type {
  AccessToken,
  Principal,
  Right,
  RotatedToken,
  TokenRotation,
  User,
} from '../domain/access.ts'
import { endedTokensKeptMax, sessionsPerUserMax } from '../domain/limits.ts'
import type { NewAccessToken } from '../ports/control-writer.ts'
import { allBehind, change, row, rows } from './flow.ts'
import type { Flow } from './flow.ts'

interface TokenRow extends Omit<AccessToken, 'rights'> {
  readonly rights: string
}

export interface PrincipalRow extends TokenRow {
  readonly hash: Buffer
  readonly email: string
  readonly userName: string
}

const TOKEN_COLUMNS = `
  t.id, t.user_id AS "userId", t.kind, t.name, t.rights,
  t.serial_number_prefix AS "serialNumberPrefix", t.app_name AS "appName",
  t.made_in_session_id AS "madeInSessionId",
  t.created_at_ms AS "createdAtMs", t.expires_at_ms AS "expiresAtMs",
  t.last_used_at_ms AS "lastUsedAtMs", t.revoked_at_ms AS "revokedAtMs"`
const TOKENS = `SELECT ${TOKEN_COLUMNS} FROM access_tokens t`
const OF_USER = `${TOKENS} WHERE t.user_id = $1 ORDER BY t.id`
const SESSIONS_OF_USER = `
  ${TOKENS} WHERE t.user_id = $1 AND t.kind = 'mobile' AND t.revoked_at_ms IS NULL
  ORDER BY t.id DESC`
/** With their users, as `PrincipalRow`s. */
export const PRINCIPALS = `
  SELECT ${TOKEN_COLUMNS}, t.hash, u.email, u.name AS "userName"
  FROM access_tokens t JOIN users u ON u.id = t.user_id`
const BY_HASH = `${PRINCIPALS} WHERE t.hash = $1`
const INSERT = `
  INSERT INTO access_tokens
    (user_id, kind, name, rights, serial_number_prefix, app_name, made_in_session_id, hash,
      created_at_ms, expires_at_ms, lifetime_ms)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING id`
// Keeps expired ones: the clock may be wrong, and few can expire in a day.
const FORGET_ENDED = `
  DELETE FROM access_tokens WHERE id IN (
    SELECT id FROM access_tokens
    WHERE user_id = $1 AND (kind = 'mobile' OR made_in_session_id IS NOT NULL)
      AND revoked_at_ms IS NOT NULL
    ORDER BY revoked_at_ms DESC, id DESC ${allBehind(endedTokensKeptMax)})`
const REVOKE = `
  UPDATE access_tokens SET revoked_at_ms = $2 WHERE id = $1 AND revoked_at_ms IS NULL`
// Before the token, as deleting the user does.
const LOCK_OWNER = `
  SELECT 1 FROM users
  WHERE id = (SELECT user_id FROM access_tokens WHERE id = $1) FOR KEY SHARE`
const LIVE_DAEMON_TOKEN = `
  SELECT ${TOKEN_COLUMNS}, t.lifetime_ms AS "lifetimeMs" FROM access_tokens t
  WHERE t.id = $1 AND t.kind = 'daemon' AND t.revoked_at_ms IS NULL
    AND (t.expires_at_ms IS NULL OR t.expires_at_ms > $2) FOR UPDATE`
const EXPIRE = 'UPDATE access_tokens SET expires_at_ms = $2 WHERE id = $1'
const END_SESSIONS = `
  UPDATE access_tokens SET revoked_at_ms = $2
  WHERE user_id = $1 AND kind = 'mobile' AND revoked_at_ms IS NULL`
const END_SESSIONS_NAMED = `${END_SESSIONS} AND name = $3 RETURNING id`
const END_OLD_SESSIONS = `
  UPDATE access_tokens SET revoked_at_ms = $2
  WHERE id IN (
    SELECT id FROM access_tokens
    WHERE user_id = $1 AND kind = 'mobile' AND revoked_at_ms IS NULL
    ORDER BY
      CASE WHEN last_used_at_ms > created_at_ms THEN last_used_at_ms ELSE created_at_ms END DESC,
      id DESC
    ${allBehind(sessionsPerUserMax)})
  RETURNING id`

export function* listTokens(userId: number): Flow<readonly AccessToken[]> {
  return (yield* rows<TokenRow>(OF_USER, userId)).map(toToken)
}

/** Newest first. */
export function* listSessions(userId: number): Flow<readonly AccessToken[]> {
  return (yield* rows<TokenRow>(SESSIONS_OF_USER, userId)).map(toToken)
}

/** @param hash SHA-256 of the token's text */
export function* findPrincipal(hash: Uint8Array): Flow<Principal | undefined> {
  const found = yield* row<PrincipalRow>(BY_HASH, Buffer.from(hash))
  return found && toPrincipal(found)
}

export function* createToken(token: NewAccessToken, createdAtMs: number): Flow<AccessToken> {
  const { userId, kind, name, rights, serialNumberPrefix = '', appName = '', expiresAtMs } = token
  const { madeInSessionId = null } = token
  const names = [kind, name, rights.join(' '), serialNumberPrefix, appName, madeInSessionId]
  const lifetimeMs = expiresAtMs === null ? null : expiresAtMs - createdAtMs
  const values = [userId, ...names, Buffer.from(token.hash), createdAtMs, expiresAtMs, lifetimeMs]
  const inserted = yield* row<{ id: number }>(INSERT, ...values)
  const what = { id: inserted?.id ?? 0, userId, kind, name, rights, serialNumberPrefix, appName }
  const times = { createdAtMs, expiresAtMs, lastUsedAtMs: null, revokedAtMs: null }
  return { ...what, madeInSessionId, ...times }
}

/** @returns whether a live token had that id */
export function* revokeToken(tokenId: number, nowMs: number): Flow<boolean> {
  return (yield* change(REVOKE, tokenId, nowMs)) > 0
}

/** @returns `undefined`: no live daemon token has that id */
export function* rotateToken(
  tokenId: number,
  { hash, nowMs, overlapMs, madeInSessionId }: TokenRotation,
): Flow<RotatedToken | undefined> {
  yield* rows(LOCK_OWNER, tokenId)
  const old = yield* row<TokenRow & { lifetimeMs: number | null }>(
    LIVE_DAEMON_TOKEN,
    tokenId,
    nowMs,
  )
  if (old === undefined) return undefined
  const { userId, kind, name, rights, serialNumberPrefix, expiresAtMs } = toToken(old)
  const same = { userId, kind, name, rights, serialNumberPrefix }
  const order = {
    ...same,
    ...(madeInSessionId !== undefined && { madeInSessionId }),
    hash: Buffer.from(hash),
    // The new token gets the same lifetime as the old one.
    expiresAtMs: old.lifetimeMs === null ? null : nowMs + old.lifetimeMs,
  }
  const token = yield* createToken(order, nowMs)
  if (overlapMs === 0) {
    // Revoked, not expired, so that it holds whatever the clock says.
    yield* change(REVOKE, tokenId, nowMs)
    return { token, oldExpiresAtMs: nowMs }
  }
  const oldExpiresAtMs = Math.min(expiresAtMs ?? Infinity, nowMs + overlapMs)
  yield* change(EXPIRE, tokenId, oldExpiresAtMs)
  return { token, oldExpiresAtMs }
}

export function* endAllSessions(userId: number, nowMs: number): Flow<void> {
  yield* change(END_SESSIONS, userId, nowMs)
}

/** Ends the sessions with this name. @returns their tokens' ids */
export function* endSessionsNamed(userId: number, name: string, nowMs: number): Flow<number[]> {
  return idsOf(yield* rows<{ id: number }>(END_SESSIONS_NAMED, userId, nowMs, name))
}

/** Ends the least recently used sessions beyond a user's limit. */
export function* endOldSessions(userId: number, nowMs: number): Flow<number[]> {
  return idsOf(yield* rows<{ id: number }>(END_OLD_SESSIONS, userId, nowMs))
}

/** Keeps only the last of the user's ended sessions and own tokens. */
export function* forgetEnded(userId: number): Flow<void> {
  yield* change(FORGET_ENDED, userId)
}

function idsOf(found: readonly { readonly id: number }[]): number[] {
  return found.map(({ id }) => id)
}

export function toPrincipal(found: PrincipalRow): Principal {
  const { hash: _hash, email, userName, ...token } = found
  return { token: toToken(token), user: toUser({ id: token.userId, email, name: userName }) }
}

/** Rows have no name for a user whose name is the address. */
export function toUser({ id, email, name }: User): User {
  return { id, email, name: name || email }
}

function toToken({ rights, ...token }: TokenRow): AccessToken {
  return { ...token, rights: rights === '' ? [] : (rights.split(' ') as Right[]) }
}
