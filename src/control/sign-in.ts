// People sign in, with an identity or a one-time link.

import { LINK } from '../domain/access.ts'
import type { VerifiedIdentity } from '../domain/access.ts'
import { codeRepeatMsMax, signInLinksPerUserMax } from '../domain/limits.ts'
import type { LinkRedemption, SignInOrder, SignedInUser } from '../ports/control-writer.ts'
import type { NewSignInLink, SignInLink } from '../ports/sign-in-links.ts'
import { allBehind, change, row, rows } from './flow.ts'
import type { Flow } from './flow.ts'
import {
  createToken,
  endOldSessions,
  endSessionsNamed,
  findPrincipal,
  forgetEnded,
} from './tokens.ts'
import { addIdentity, createUser, findUser, hasUsers, lockUser, userOf } from './users.ts'
import type { AddState } from './users.ts'

const FORGET_ENDED = 'DELETE FROM sign_in_links WHERE expires_at_ms <= $1 OR used_at_ms <= $2'
const KEEP_NEWEST = `
  DELETE FROM sign_in_links WHERE hash IN (
    SELECT hash FROM sign_in_links
    WHERE user_id IS NOT DISTINCT FROM $1 AND used_at_ms IS NULL
    ORDER BY created_at_ms DESC ${allBehind(signInLinksPerUserMax - 1)})`
const INSERT = `
  INSERT INTO sign_in_links (hash, user_id, salt, created_at_ms, expires_at_ms)
  VALUES ($1, $2, $3, $4, $5)`
const FIND = 'SELECT user_id AS "userId", salt FROM sign_in_links WHERE hash = $1'
// Also locks the links that would create the first user: only one of them does.
const LOCK = `
  SELECT hash, user_id AS "userId", expires_at_ms AS "expiresAtMs", used_at_ms AS "usedAtMs"
  FROM sign_in_links WHERE hash = $1 OR user_id IS NULL ORDER BY hash FOR UPDATE`
const USE = 'UPDATE sign_in_links SET user_id = $2, used_at_ms = $3 WHERE hash = $1'
const END_OPEN = 'DELETE FROM sign_in_links WHERE user_id = $1 AND used_at_ms IS NULL'

interface LinkRow {
  readonly hash: Buffer
  readonly userId: number | null
  readonly expiresAtMs: number | null
  readonly usedAtMs: number | null
}

/** @returns `undefined`: it may not sign anybody in, and nothing has changed */
export function* signIn(
  { identity, maySignUp, token }: SignInOrder,
  nowMs: number,
  addState: AddState,
): Flow<SignedInUser | undefined> {
  const known = yield* userOf(identity)
  const userId = known ?? (yield* userFor(identity, { maySignUp, nowMs, addState }))
  if (userId === undefined) return undefined
  const endedIds = known === undefined ? yield* endLinked(userId, nowMs) : []
  return yield* beginSession({ userId, token, nowMs, endedIds })
}

/** The user whom an identity joins, or a new one. */
function* userFor(
  identity: VerifiedIdentity,
  by: { readonly maySignUp: boolean; readonly nowMs: number; readonly addState: AddState },
): Flow<number | undefined> {
  const { email, isEmailVerified, name = '' } = identity
  const { nowMs } = by
  if (email === undefined || !isEmailVerified) return undefined
  if (by.maySignUp) yield* createUser({ email, name, nowMs, hasSignedUp: true }, by.addState)
  const user = yield* findUser(email)
  if (user === undefined) return undefined
  if (yield* addIdentity(identity, user.id, nowMs)) return user.id
  // Another process added it meanwhile, unless the user has another identity of the issuer.
  return yield* userOf(identity)
}

/** The holder of a link may not be the person whom the provider knows. */
function* endLinked(userId: number, nowMs: number): Flow<readonly number[]> {
  yield* change(END_OPEN, userId)
  return yield* endSessionsNamed(userId, LINK, nowMs)
}

interface NewSession extends Pick<SignInOrder, 'token'> {
  readonly userId: number
  readonly nowMs: number
  /** Sessions that this ends. */
  readonly endedIds: readonly number[]
}

function* beginSession(of: NewSession): Flow<SignedInUser | undefined> {
  const { userId, nowMs, endedIds } = of
  // Locked: concurrent sign-ins count each other's sessions.
  const user = yield* lockUser(userId)
  if (user === undefined) return undefined
  yield* forgetEnded(userId)
  const token = yield* createToken({ ...of.token, userId, kind: 'mobile' }, nowMs)
  return { user, token, endedTokenIds: [...endedIds, ...(yield* endOldSessions(userId, nowMs))] }
}

/** If the user has more than `signInLinksPerUserMax` open ones, the oldest ends. */
export function* createSignInLink(link: NewSignInLink): Flow<void> {
  const { hash, userId, salt, nowMs, expiresAtMs } = link
  yield* change(FORGET_ENDED, nowMs, nowMs - codeRepeatMsMax)
  yield* change(KEEP_NEWEST, userId)
  yield* change(INSERT, Buffer.from(hash), userId, Buffer.from(salt), nowMs, expiresAtMs)
}

export function* findSignInLink(hash: Uint8Array): Flow<SignInLink | undefined> {
  return yield* row<SignInLink>(FIND, Buffer.from(hash))
}

/** @returns `undefined` for a link that is unknown, used or expired */
export function* redeemSignInLink(
  order: LinkRedemption,
  addState: AddState,
): Flow<SignedInUser | undefined> {
  const { token, nowMs } = order
  const hash = Buffer.from(order.linkHash)
  const found = yield* findSignInLink(hash)
  // Before the link, as deleting the user does.
  if (typeof found?.userId === 'number') yield* lockUser(found.userId)
  const link = (yield* rows<LinkRow>(LOCK, hash)).find((one) => one.hash.equals(hash))
  if (link === undefined) return undefined
  const { usedAtMs, expiresAtMs } = link
  if (usedAtMs !== null) {
    return usedAtMs + codeRepeatMsMax > nowMs ? yield* repeated(token.hash) : undefined
  }
  if (expiresAtMs !== null && expiresAtMs <= nowMs) return undefined
  const userId = link.userId ?? (yield* createFirstUser(order, hash, addState))
  if (userId === undefined) return undefined
  yield* change(USE, hash, userId, nowMs)
  return yield* beginSession({ userId, token, nowMs, endedIds: [] })
}

/** The session that a link began, requested again. */
function* repeated(tokenHash: Uint8Array): Flow<SignedInUser | undefined> {
  const found = yield* findPrincipal(tokenHash)
  return found?.token.revokedAtMs === null ? { ...found, endedTokenIds: [] } : undefined
}

function* createFirstUser(
  { firstUser, nowMs }: LinkRedemption,
  hash: Buffer,
  addState: AddState,
): Flow<number | undefined> {
  if (firstUser === undefined || (yield* hasUsers())) return undefined
  // First, because creating a user ends the other links that would create the first user.
  yield* change(USE, hash, null, nowMs)
  return (yield* createUser({ ...firstUser, nowMs }, addState))?.id
}
