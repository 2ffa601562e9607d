// Signing in: an authorization code from a phone becomes a mobile token.
//
// A phone on a bad network may not get its answer and asks again with the same code, which no
// provider takes twice. So what came of a code is remembered for two minutes, in memory alone: the
// same code, verifier and redirect URI get the same token, as long as that is good. Only a hash of
// the three is the key. A step that failed is tried again with the next request, those before it
// are not.

import { hash } from 'node:crypto'
import type { AuthorizationGrant, User, VerifiedIdentity } from '../domain/access.ts'
import { isEmail } from '../domain/access.ts'
import { ServiceError } from '../domain/errors.ts'
import type { DurationMs, EpochMs } from '../domain/time.ts'
import { MINUTE_MS } from '../domain/time.ts'
import type { ControlWriter } from '../ports/control-writer.ts'
import type { ExchangeProgress, IdentityProvider } from '../ports/identity.ts'
import type { Clock } from '../ports/system.ts'
import { mintToken } from './tokens.ts'
import type { AccessTokens } from './tokens.ts'

const REPLAY_MS = 2 * MINUTE_MS
/** Codes remembered at a time, about 1 KB each; beyond it the oldest is forgotten. */
const ATTEMPTS_MAX = 10_000
const NAME_CODE_POINTS_MAX = 128

export interface SignedIn {
  /** The text of the mobile token. */
  readonly token: string
  /** When it ends at the latest. */
  readonly expiresAtMs: EpochMs
  readonly user: User
}

export interface SignInSettings {
  /** Who may get an account: anyone, nobody, or addresses of these e-mail domains. */
  readonly allowSignUp: boolean | readonly string[]
  /** From issue to the end, however much it is used. */
  readonly mobileTokenLifetimeMs: DurationMs
}

interface Collaborators {
  readonly providers: ReadonlyMap<string, IdentityProvider>
  readonly controlWriter: ControlWriter
  readonly tokens: AccessTokens
  readonly clock: Clock
}

/** What came of one code so far. */
interface Attempt {
  readonly startedAtMs: EpochMs
  /** Until the provider's word is verified. */
  exchange: ExchangeProgress
  /** Once it is. */
  identity?: VerifiedIdentity
  /** Of the request under way or of the one that succeeded. */
  answer?: Promise<SignedIn> | undefined
}

export class SignIn {
  readonly #with: Collaborators
  readonly #settings: SignInSettings
  /** By hash, the oldest first. */
  readonly #attempts = new Map<string, Attempt>()

  constructor(collaborators: Collaborators, settings: SignInSettings) {
    this.#with = collaborators
    this.#settings = settings
  }

  /**
   * @param idp id of the provider that gave the code
   * @throws ServiceError `unknown_provider`, `invalid_grant`, `provider_failed`,
   *   `provider_timeout`, `sign_in_not_allowed`, `storage_full`
   */
  async signIn(idp: string, grant: AuthorizationGrant): Promise<SignedIn> {
    const provider = this.#with.providers.get(idp)
    if (provider === undefined) throw new ServiceError('unknown_provider')
    const attempt = this.#attemptOf(idp, grant)
    const isRepeat = attempt.answer !== undefined
    attempt.answer ??= this.#answer(attempt, provider, { idp, grant })
    const signedIn = await attempt.answer
    if (isRepeat && !(await this.#isGood(signedIn))) throw new ServiceError('invalid_grant')
    return signedIn
  }

  #attemptOf(idp: string, { code, codeVerifier, redirectUri }: AuthorizationGrant): Attempt {
    const startedAtMs = this.#with.clock.nowMs()
    this.#forgetOld(startedAtMs)
    const key = hash('sha256', JSON.stringify([idp, code, codeVerifier, redirectUri]), 'base64')
    const known = this.#attempts.get(key)
    if (known !== undefined) return known
    const attempt: Attempt = { startedAtMs, exchange: {} }
    this.#attempts.set(key, attempt)
    return attempt
  }

  #forgetOld(nowMs: EpochMs): void {
    for (const [key, { startedAtMs }] of this.#attempts) {
      const isOld = startedAtMs + REPLAY_MS <= nowMs
      if (!isOld && this.#attempts.size < ATTEMPTS_MAX) return
      this.#attempts.delete(key)
    }
  }

  async #answer(
    attempt: Attempt,
    provider: IdentityProvider,
    { idp, grant }: { idp: string; grant: AuthorizationGrant },
  ): Promise<SignedIn> {
    try {
      attempt.identity ??= await provider.exchange(grant, attempt.exchange)
      attempt.exchange = {}
      return await this.#issue(attempt.identity, idp)
    } catch (error) {
      attempt.answer = undefined
      throw error
    }
  }

  async #issue(verified: VerifiedIdentity, idp: string): Promise<SignedIn> {
    const identity = tidied(verified)
    const { text, hash: tokenHash } = mintToken('mobile')
    const expiresAtMs = this.#with.clock.nowMs() + this.#settings.mobileTokenLifetimeMs
    const signedIn = await this.#with.controlWriter.signIn({
      identity,
      maySignUp: this.#maySignUp(identity.email),
      token: { name: idp, rights: ['sensors:read'], hash: tokenHash, expiresAtMs },
    })
    if (signedIn === undefined) throw new ServiceError('sign_in_not_allowed')
    for (const tokenId of signedIn.endedTokenIds) this.#with.tokens.forgetToken(tokenId)
    return { token: text, expiresAtMs, user: signedIn.user }
  }

  #maySignUp(email: string | undefined): boolean {
    const { allowSignUp } = this.#settings
    if (typeof allowSignUp === 'boolean') return allowSignUp
    const domain = email?.slice(email.lastIndexOf('@') + 1).toLowerCase()
    return domain !== undefined && allowSignUp.includes(domain)
  }

  /** Whether the token of an answer still works: it may have been revoked. */
  async #isGood({ token }: SignedIn): Promise<boolean> {
    const principal = await this.#with.tokens.find(token, this.#with.clock.nowMs())
    return principal !== undefined
  }
}

/**
 * Only an address that a user can have counts as one, just as it is written: what would have to be
 * mended first nobody has verified. A name is cut to what a name may be.
 */
function tidied(identity: VerifiedIdentity): VerifiedIdentity {
  const { email } = identity
  const name = Array.from(identity.name?.replace(/\p{Cc}/gu, ' ').trim() ?? '')
  return {
    ...identity,
    email: email !== undefined && isEmail(email) ? email : undefined,
    name: name.slice(0, NAME_CODE_POINTS_MAX).join('').toWellFormed() || undefined,
  }
}
