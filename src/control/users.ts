// Users and their identities at identity providers, as rows.

import { foldEmail } from '../domain/access.ts'
import type { Identity, User, UserChange, UserIdentity } from '../domain/access.ts'
import { change, row, rows } from './flow.ts'
import type { Flow } from './flow.ts'
import { endAllSessions, toUser } from './tokens.ts'

const USERS = 'SELECT id, email, name FROM users'
const IN_ORDER = `${USERS} ORDER BY id`
const BY_EMAIL = `${USERS} WHERE email_key = $1`
const LOCK = `${USERS} WHERE id = $1 FOR UPDATE`
const ANY = 'SELECT 1 FROM users LIMIT 1'
const INSERT = `
  INSERT INTO users (email, email_key, name, created_at_ms, has_signed_up)
  VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (email_key) DO NOTHING RETURNING id`
const RENAME = `
  UPDATE users
  SET email = coalesce(CAST($2 AS text), email), email_key = coalesce(CAST($3 AS text), email_key),
    name = coalesce(CAST($4 AS text),
      CASE WHEN name = email THEN coalesce(CAST($2 AS text), name) ELSE name END)
  WHERE id = $1
    AND NOT EXISTS (SELECT 1 FROM users WHERE email_key = CAST($3 AS text) AND id <> $1)
  RETURNING id, email, name`
const MAY_LEAVE = `
  SELECT 1 FROM users WHERE id = $1 AND has_signed_up AND NOT EXISTS (
    SELECT 1 FROM access_tokens
    WHERE user_id = $1 AND kind = 'daemon' AND made_in_session_id IS NULL
      AND revoked_at_ms IS NULL AND (expires_at_ms IS NULL OR expires_at_ms > $2))`
const END_FIRST_LINKS = `
  DELETE FROM sign_in_links WHERE user_id IS NULL AND used_at_ms IS NULL`
const USER_BY_IDENTITY = `
  SELECT user_id AS id FROM identities WHERE issuer = $1 AND subject = $2`
const IDENTITIES = `
  SELECT issuer, subject, user_id AS "userId", created_at_ms AS "createdAtMs"
  FROM identities ORDER BY user_id, issuer`
const ADD_IDENTITY = `
  INSERT INTO identities (issuer, subject, user_id, created_at_ms) VALUES ($1, $2, $3, $4)
  ON CONFLICT (user_id, issuer) DO NOTHING`
const REMOVE_IDENTITY = 'DELETE FROM identities WHERE user_id = $1 AND issuer = $2'

export interface NewUser {
  readonly email: string
  readonly name: string
  readonly nowMs: number
  /** By signing in; otherwise an operator creates them. */
  readonly hasSignedUp?: boolean
}

/** Adds an engine's further state of a user. */
export type AddState = (userId: number) => Flow<unknown>

/** @returns `undefined`: the address is taken */
export function* createUser(
  { email, name, nowMs, hasSignedUp = false }: NewUser,
  addState: AddState,
): Flow<User | undefined> {
  // Before any user exists, so that no link can create a first user any more.
  yield* change(END_FIRST_LINKS)
  const values = [email, foldEmail(email), name, nowMs, hasSignedUp]
  const inserted = yield* row<{ id: number }>(INSERT, ...values)
  if (inserted === undefined) return undefined
  yield* addState(inserted.id)
  return toUser({ id: inserted.id, email, name })
}

/** @returns the changed user, `undefined` if there is none or the address is taken */
export function* renameUser(userId: number, { email, name }: UserChange): Flow<User | undefined> {
  const emailKey = email === undefined ? null : foldEmail(email)
  const renamed = yield* row<User>(RENAME, userId, email ?? null, emailKey, name ?? null)
  return renamed && toUser(renamed)
}

/**
 * Whether a user may delete their own account: they signed up, and have no operator's tokens.
 *
 * @returns `undefined`: there is no such user any more
 */
export function* mayLeave(userId: number, nowMs: number): Flow<boolean | undefined> {
  // Locked: no daemon token can appear between the check and the deletion.
  if ((yield* lockUser(userId)) === undefined) return undefined
  return (yield* row(MAY_LEAVE, userId, nowMs)) !== undefined
}

export function* hasUsers(): Flow<boolean> {
  return (yield* row(ANY)) !== undefined
}

export function* listUsers(): Flow<readonly User[]> {
  return (yield* rows<User>(IN_ORDER)).map(toUser)
}

export function* findUser(email: string): Flow<User | undefined> {
  const found = yield* row<User>(BY_EMAIL, foldEmail(email))
  return found && toUser(found)
}

/** The user, locked against changes and deletion until the transaction ends. */
export function* lockUser(userId: number): Flow<User | undefined> {
  const found = yield* row<User>(LOCK, userId)
  return found && toUser(found)
}

export function* listIdentities(): Flow<readonly UserIdentity[]> {
  return yield* rows<UserIdentity>(IDENTITIES)
}

/** The id of a person's user. */
export function* userOf({ issuer, subject }: Identity): Flow<number | undefined> {
  return (yield* row<{ id: number }>(USER_BY_IDENTITY, issuer, subject))?.id
}

/** @returns whether it was added: a user has at most one identity of an issuer */
export function* addIdentity(
  { issuer, subject }: Identity,
  userId: number,
  nowMs: number,
): Flow<boolean> {
  return (yield* change(ADD_IDENTITY, issuer, subject, userId, nowMs)) > 0
}

/** @returns whether the user had the identity: then all of the user's mobile tokens are revoked */
export function* unlinkIdentity(userId: number, issuer: string, nowMs: number): Flow<boolean> {
  if ((yield* change(REMOVE_IDENTITY, userId, issuer)) === 0) return false
  yield* endAllSessions(userId, nowMs)
  return true
}
