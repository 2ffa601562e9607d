// People sign in, by an identity or by a link, within the caller's transaction.

import { foldEmail, LINK } from '../../domain/access.ts'
import type { User, VerifiedIdentity } from '../../domain/access.ts'
import { codeRepeatMsMax } from '../../domain/limits.ts'
import type {
  LinkRedemption,
  NewAccessToken,
  SignInOrder,
  SignedInUser,
} from '../../ports/control-writer.ts'
import type { NewSignInLink } from '../../ports/sign-in-links.ts'
import type { Clock } from '../../ports/system.ts'
import type { Connection } from '../database.ts'
import { IdentityRows } from './identity-rows.ts'
import { SignInLinkRows } from './sign-in-link-rows.ts'
import type { TokenRows } from './token-rows.ts'

const USER_BY_ID = 'SELECT id, email, name FROM users WHERE id = ?'
const USER_ID_BY_EMAIL = 'SELECT id FROM users WHERE email_key = ?'
const NOTE_SIGN_UP = 'UPDATE users SET has_signed_up = 1 WHERE id = ?'
const ANY_USER = 'SELECT 1 FROM users LIMIT 1'

interface Collaborators {
  readonly tokens: TokenRows
  readonly clock: Clock
  readonly createUser: (email: string, name: string) => User | undefined
}

export class SignIns {
  readonly #db: Connection
  readonly #with: Collaborators
  readonly #identities: IdentityRows
  readonly #links: SignInLinkRows

  constructor(db: Connection, collaborators: Collaborators) {
    this.#db = db
    this.#with = collaborators
    this.#identities = new IdentityRows(db)
    this.#links = new SignInLinkRows(db)
  }

  signIn({ identity, maySignUp, token }: SignInOrder): SignedInUser | undefined {
    const known = this.#identities.userOf(identity)
    const userId = known ?? this.#userFor(identity, maySignUp)
    if (userId === undefined) return undefined
    const endedIds = known === undefined ? this.#endLinked(userId) : []
    return this.#begin(userId, token, endedIds)
  }

  createLink(link: NewSignInLink): void {
    this.#links.add(link)
  }

  redeemLink({ linkHash, token, firstUser, nowMs }: LinkRedemption): SignedInUser | undefined {
    const link = this.#links.find(linkHash)
    if (link === undefined) return undefined
    const use = (userId: number | null) => this.#links.use(linkHash, userId, nowMs)
    const { usedAtMs, expiresAtMs } = link
    if (usedAtMs !== null) return this.#repeated(token.hash, usedAtMs, nowMs)
    if (expiresAtMs !== null && expiresAtMs <= nowMs) return undefined
    // Used before the first user is created, which ends the other links that would do so.
    const userId = link.userId ?? this.#firstUser(firstUser, () => use(null))
    if (userId === undefined) return undefined
    use(userId)
    return this.#begin(userId, token, [])
  }

  unlink(userId: number, issuer: string): boolean {
    const wasThere = this.#identities.remove(userId, issuer)
    if (wasThere) this.#with.tokens.endSessions(userId, null)
    return wasThere
  }

  #begin(
    userId: number,
    token: Omit<NewAccessToken, 'userId' | 'kind'>,
    endedIds: readonly number[],
  ): SignedInUser {
    const { tokens } = this.#with
    const created = tokens.create({ ...token, userId, kind: 'mobile' })
    const endedTokenIds = [...endedIds, ...tokens.endOldSessions(userId)]
    return { user: this.#userOf(userId), token: created, endedTokenIds }
  }

  /** The session that a link began, asked for again. */
  #repeated(hash: Uint8Array, usedAtMs: number, nowMs: number): SignedInUser | undefined {
    const token = this.#with.tokens.find(hash)
    const isGood = token?.revokedAtMs === null && usedAtMs + codeRepeatMsMax > nowMs
    return isGood ? { user: this.#userOf(token.userId), token, endedTokenIds: [] } : undefined
  }

  #userOf(userId: number): User {
    const user = this.#db.prepare<[number], User>(USER_BY_ID).get(userId)
    if (user === undefined) throw new Error(`BUG: user ${userId} signs in and is not there`)
    return { ...user, name: user.name || user.email }
  }

  #firstUser(names: LinkRedemption['firstUser'], use: () => void): number | undefined {
    if (names === undefined || this.#db.prepare(ANY_USER).get() !== undefined) return undefined
    use()
    return this.#with.createUser(names.email, names.name)?.id
  }

  /** Links an existing user to an identity, or creates one. */
  #userFor(identity: VerifiedIdentity, maySignUp: boolean): number | undefined {
    const { email, isEmailVerified, name = '' } = identity
    if (email === undefined || !isEmailVerified) return undefined
    const byEmail = this.#db.prepare<[string], number>(USER_ID_BY_EMAIL).pluck()
    const userId =
      byEmail.get(foldEmail(email)) ?? (maySignUp ? this.#signUp(email, name) : undefined)
    if (userId === undefined) return undefined
    const isAdded = this.#identities.add(identity, userId, this.#with.clock.nowMs())
    return isAdded ? userId : undefined
  }

  #signUp(email: string, name: string): number | undefined {
    const userId = this.#with.createUser(email, name)?.id
    if (userId !== undefined) this.#db.prepare(NOTE_SIGN_UP).run(userId)
    return userId
  }

  /** Whoever had a link may have been another person than the one whom the provider knows. */
  #endLinked(userId: number): number[] {
    this.#links.endOpen(userId)
    return this.#with.tokens.endSessions(userId, LINK)
  }
}
