// Users, their identities and tokens: creating, signing in, deleting.

import { foldEmail, LINK } from '../../domain/access.ts'
import type { AccessToken, User, UserChange, VerifiedIdentity } from '../../domain/access.ts'
import { sessionsPerUserMax } from '../../domain/limits.ts'
import type { NewAccessToken, SignInOrder, SignedInUser } from '../../ports/control-writer.ts'
import { bucketOf } from '../bucket.ts'
import type { Sql } from '../database.ts'
import { toUser } from './token-rows.ts'

const INSERT_USER = `
  INSERT INTO users (email, email_key, name, created_at_ms, has_signed_up)
  VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (email_key) DO NOTHING RETURNING id`
const RENAME_USER = `
  UPDATE users SET email = coalesce($2::text, email), email_key = coalesce($3::text, email_key),
    name = coalesce($4::text, CASE WHEN name = email THEN coalesce($2::text, name) ELSE name END)
  WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM users WHERE email_key = $3::text AND id <> $1)
  RETURNING id, email, name`
const END_FIRST_LINKS = `
  DELETE FROM sign_in_links WHERE user_id IS NULL AND used_at_ms IS NULL`
const END_LINKS = 'DELETE FROM sign_in_links WHERE user_id = $1 AND used_at_ms IS NULL'
const END_LINKED_SESSIONS = `
  UPDATE access_tokens SET revoked_at_ms = $2
  WHERE user_id = $1 AND kind = 'mobile' AND name = '${LINK}' AND revoked_at_ms IS NULL
  RETURNING id`
const INSERT_USER_STATE = 'INSERT INTO user_state (bucket, user_id) VALUES ($1, $2)'
const USER_ID_BY_EMAIL = 'SELECT id FROM users WHERE email_key = $1'
export const LOCK_USER = 'SELECT id, email, name FROM users WHERE id = $1 FOR UPDATE'
const USER_BY_IDENTITY = `
  SELECT user_id AS id FROM identities WHERE issuer = $1 AND subject = $2`
const INSERT_IDENTITY = `
  INSERT INTO identities (issuer, subject, user_id, created_at_ms) VALUES ($1, $2, $3, $4)
  ON CONFLICT (user_id, issuer) DO NOTHING`
const REMOVE_IDENTITY = 'DELETE FROM identities WHERE user_id = $1 AND issuer = $2'
const REVOKE_MOBILE_TOKENS = `
  UPDATE access_tokens SET revoked_at_ms = $2
  WHERE user_id = $1 AND kind = 'mobile' AND revoked_at_ms IS NULL`
const INSERT_TOKEN = `
  INSERT INTO access_tokens
    (user_id, kind, name, rights, serial_number_prefix, app_name, hash, created_at_ms,
      expires_at_ms)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id`
const END_OLD_SESSIONS = `
  UPDATE access_tokens SET revoked_at_ms = $1
  WHERE id IN (
    SELECT id FROM access_tokens
    WHERE user_id = $2 AND kind = 'mobile' AND revoked_at_ms IS NULL
    ORDER BY greatest(created_at_ms, coalesce(last_used_at_ms, 0)) DESC, id DESC OFFSET $3)
  RETURNING id`
const MAY_LEAVE = `
  SELECT 1 FROM users WHERE id = $1 AND has_signed_up AND NOT EXISTS (
    SELECT 1 FROM access_tokens
    WHERE user_id = $1 AND kind = 'daemon' AND revoked_at_ms IS NULL
      AND (expires_at_ms IS NULL OR expires_at_ms > $2))`
// Waits for the group that registers sensors; from then on nobody writes to any of the user's.
const DELETE_USER_STATE = `
  DELETE FROM user_state WHERE bucket = $1 AND user_id = $2 RETURNING sensors`
const ORDER_DELETION = 'INSERT INTO user_deletions (bucket, user_id) VALUES ($1, $2)'
// In the order in which others lock them, see refused-rows.ts.
const DELETE_REFUSED_TOTAL = 'DELETE FROM refused_totals WHERE user_id = $1'
// Tokens, identities and what was refused go with it.
const DELETE_USER = 'DELETE FROM users WHERE id = $1'

interface NewUser {
  readonly email: string
  readonly name: string
  readonly nowMs: number
  /** By signing in; else an operator makes them. */
  readonly hasSignedUp?: boolean
}

export async function createUser(
  sql: Sql,
  { email, name, nowMs, hasSignedUp = false }: NewUser,
): Promise<User | undefined> {
  // Before there is a user: nobody becomes the first one by a link any more.
  await sql.change(END_FIRST_LINKS)
  const row = [email, foldEmail(email), name, nowMs, hasSignedUp]
  const [inserted] = await sql.rows<{ id: number }>(INSERT_USER, row)
  if (inserted === undefined) return undefined
  await sql.change(INSERT_USER_STATE, [bucketOf(inserted.id), inserted.id])
  return toUser({ id: inserted.id, email, name })
}

/** @returns the user after the change, `undefined` if there is none, or somebody has the address */
export async function renameUser(
  sql: Sql,
  userId: number,
  { email, name }: UserChange,
): Promise<User | undefined> {
  const emailKey = email === undefined ? undefined : foldEmail(email)
  const [renamed] = await sql.rows<User>(RENAME_USER, [userId, email, emailKey, name])
  return renamed && toUser(renamed)
}

/**
 * What user-deletions.ts finishes: the user is gone, the sensors are nobody's.
 *
 * @returns how many sensors they had, `undefined` if there is no such user
 */
export async function deleteUser(sql: Sql, userId: number): Promise<number | undefined> {
  if ((await sql.rows(LOCK_USER, [userId])).length === 0) return undefined
  const user = [bucketOf(userId), userId]
  const [state] = await sql.rows<{ sensors: number }>(DELETE_USER_STATE, user)
  await sql.change(ORDER_DELETION, user)
  await sql.change(DELETE_REFUSED_TOTAL, [userId])
  await sql.change(DELETE_USER, [userId])
  return state?.sensors ?? 0
}

/** The same for a user who may delete their own account. @returns whether there was one */
export async function deleteAccount(
  sql: Sql,
  { userId, nowMs }: { userId: number; nowMs: number },
): Promise<boolean> {
  // Locked: no daemon token comes between the question and the deletion.
  await sql.rows(LOCK_USER, [userId])
  const mayLeave = (await sql.rows(MAY_LEAVE, [userId, nowMs])).length > 0
  return mayLeave && (await deleteUser(sql, userId)) !== undefined
}

export async function insertToken(
  sql: Sql,
  token: NewAccessToken,
  createdAtMs: number,
): Promise<AccessToken> {
  const { userId, kind, name, rights, serialNumberPrefix = '', appName = '', expiresAtMs } = token
  const [row] = await sql.rows<{ id: number }>(INSERT_TOKEN, [
    userId,
    kind,
    name,
    rights.join(' '),
    serialNumberPrefix,
    appName,
    Buffer.from(token.hash),
    createdAtMs,
    expiresAtMs,
  ])
  const what = { id: row?.id ?? 0, userId, kind, name, rights, serialNumberPrefix, appName }
  return { ...what, createdAtMs, expiresAtMs, lastUsedAtMs: null, revokedAtMs: null }
}

export async function signIn(
  sql: Sql,
  { identity, maySignUp, token }: SignInOrder,
  nowMs: number,
): Promise<SignedInUser | undefined> {
  const [known] = await sql.rows<{ id: number }>(USER_BY_IDENTITY, [
    identity.issuer,
    identity.subject,
  ])
  const userId = known?.id ?? (await userFor(sql, identity, { maySignUp, nowMs }))
  if (userId === undefined) return undefined
  const endedIds = known === undefined ? await endLinked(sql, userId, nowMs) : []
  return beginSession(sql, { userId, token, nowMs, endedIds })
}

interface NewSession extends Pick<SignInOrder, 'token'> {
  readonly userId: number
  readonly nowMs: number
  /** Sessions that end with this. */
  readonly endedIds: readonly number[]
}

export async function beginSession(
  sql: Sql,
  { userId, token, nowMs, endedIds }: NewSession,
): Promise<SignedInUser | undefined> {
  // Locked: two sign-ins at once count each other's sessions.
  const [user] = await sql.rows<User>(LOCK_USER, [userId])
  if (user === undefined) return undefined
  const created = await insertToken(sql, { ...token, userId, kind: 'mobile' }, nowMs)
  const ended = await sql.rows<{ id: number }>(END_OLD_SESSIONS, [
    nowMs,
    userId,
    sessionsPerUserMax,
  ])
  const endedTokenIds = [...endedIds, ...ended.map(({ id }) => id)]
  return { user: toUser(user), token: created, endedTokenIds }
}

/** @returns whether the user had the identity: then no mobile token of the user works any more */
export async function unlinkIdentity(
  sql: Sql,
  { userId, issuer, nowMs }: { userId: number; issuer: string; nowMs: number },
): Promise<boolean> {
  if ((await sql.change(REMOVE_IDENTITY, [userId, issuer])) === 0) return false
  await sql.change(REVOKE_MOBILE_TOKENS, [userId, nowMs])
  return true
}

/** Whoever had a link may have been another person than the one whom the provider knows. */
async function endLinked(sql: Sql, userId: number, nowMs: number): Promise<number[]> {
  await sql.change(END_LINKS, [userId])
  const ended = await sql.rows<{ id: number }>(END_LINKED_SESSIONS, [userId, nowMs])
  return ended.map(({ id }) => id)
}

/** The user whom an identity joins, or who is made for it. */
async function userFor(
  sql: Sql,
  { issuer, subject, email, isEmailVerified, name = '' }: VerifiedIdentity,
  { maySignUp, nowMs }: { maySignUp: boolean; nowMs: number },
): Promise<number | undefined> {
  if (email === undefined || !isEmailVerified) return undefined
  if (maySignUp) await createUser(sql, { email, name, nowMs, hasSignedUp: true })
  const [user] = await sql.rows<{ id: number }>(USER_ID_BY_EMAIL, [foldEmail(email)])
  if (user === undefined) return undefined
  const isAdded = await sql.change(INSERT_IDENTITY, [issuer, subject, user.id, nowMs])
  if (isAdded > 0) return user.id
  // Added by another process meanwhile, unless the user has another identity of the issuer.
  const [added] = await sql.rows<{ id: number }>(USER_BY_IDENTITY, [issuer, subject])
  return added?.id
}
