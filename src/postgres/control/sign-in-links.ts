// Links to sign in with: created, and redeemed once.

import type { AccessToken, User } from '../../domain/access.ts'
import { codeRepeatMsMax, signInLinksPerUserMax } from '../../domain/limits.ts'
import type { LinkRedemption, SignedInUser } from '../../ports/control-writer.ts'
import type { NewSignInLink, SignInLink } from '../../ports/sign-in-links.ts'
import type { Sql } from '../database.ts'
import { findToken, toUser } from './token-rows.ts'
import { beginSession, createUser, LOCK_USER } from './user-writes.ts'

const FORGET_ENDED = 'DELETE FROM sign_in_links WHERE expires_at_ms <= $1 OR used_at_ms <= $2'
const KEEP_NEWEST = `
  DELETE FROM sign_in_links WHERE hash IN (
    SELECT hash FROM sign_in_links
    WHERE user_id IS NOT DISTINCT FROM $1::int AND used_at_ms IS NULL
    ORDER BY created_at_ms DESC OFFSET $2)`
const INSERT = `
  INSERT INTO sign_in_links (hash, user_id, salt, created_at_ms, expires_at_ms)
  VALUES ($1, $2, $3, $4, $5)`
const FIND = 'SELECT user_id AS "userId", salt FROM sign_in_links WHERE hash = $1'
// With the links that would make the first user: only one of them does.
const LOCK = `
  SELECT hash, user_id AS "userId", expires_at_ms AS "expiresAtMs", used_at_ms AS "usedAtMs"
  FROM sign_in_links WHERE hash = $1 OR user_id IS NULL ORDER BY hash FOR UPDATE`
const USE = 'UPDATE sign_in_links SET user_id = $2, used_at_ms = $3 WHERE hash = $1'
const ANY_USER = 'SELECT 1 FROM users LIMIT 1'

interface LinkRow {
  readonly hash: Buffer
  readonly userId: number | null
  readonly expiresAtMs: number | null
  readonly usedAtMs: number | null
}

export async function createSignInLink(sql: Sql, link: NewSignInLink): Promise<void> {
  const { hash, userId, salt, nowMs, expiresAtMs } = link
  await sql.change(FORGET_ENDED, [nowMs, nowMs - codeRepeatMsMax])
  await sql.change(KEEP_NEWEST, [userId, signInLinksPerUserMax - 1])
  await sql.change(INSERT, [Buffer.from(hash), userId, Buffer.from(salt), nowMs, expiresAtMs])
}

export async function findSignInLink(sql: Sql, hash: Uint8Array): Promise<SignInLink | undefined> {
  return (await sql.rows<SignInLink>(FIND, [Buffer.from(hash)]))[0]
}

export async function redeemSignInLink(
  sql: Sql,
  { linkHash, token, firstUser, nowMs }: LinkRedemption,
): Promise<SignedInUser | undefined> {
  const hash = Buffer.from(linkHash)
  const found = await findSignInLink(sql, hash)
  // Before the link, as whoever deletes the user does.
  if (found !== undefined) await sql.rows(LOCK_USER, [found.userId])
  const link = (await sql.rows<LinkRow>(LOCK, [hash])).find((row) => row.hash.equals(hash))
  if (link === undefined) return undefined
  const { usedAtMs, expiresAtMs } = link
  if (usedAtMs !== null) {
    const isLate = usedAtMs + codeRepeatMsMax <= nowMs
    return isLate ? undefined : repeated(sql, await findToken(sql, token.hash))
  }
  if (expiresAtMs !== null && expiresAtMs <= nowMs) return undefined
  const use = (userId: number | null) => sql.change(USE, [hash, userId, nowMs])
  const userId = link.userId ?? (await createFirst(sql, { firstUser, nowMs, use }))
  if (userId === undefined) return undefined
  await use(userId)
  return beginSession(sql, { userId, token, nowMs, endedIds: [] })
}

/** The session that a link began, asked for again. */
async function repeated(
  sql: Sql,
  token: AccessToken | undefined,
): Promise<SignedInUser | undefined> {
  if (token?.revokedAtMs !== null) return undefined
  const [user] = await sql.rows<User>(LOCK_USER, [token.userId])
  return user && { user: toUser(user), token, endedTokenIds: [] }
}

interface FirstUser extends Pick<LinkRedemption, 'firstUser' | 'nowMs'> {
  /** Called first: creating a user ends the other links that would do so. */
  readonly use: (userId: null) => Promise<unknown>
}

async function createFirst(
  sql: Sql,
  { firstUser, nowMs, use }: FirstUser,
): Promise<number | undefined> {
  if (firstUser === undefined || (await sql.rows(ANY_USER)).length > 0) return undefined
  await use(null)
  return (await createUser(sql, { ...firstUser, nowMs }))?.id
}
