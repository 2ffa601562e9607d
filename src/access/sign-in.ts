// Signing in: exchanges an authorization code from an app for a mobile token. For two minutes the
// same code, verifier and redirect URI get the same token, unless it is revoked.

import type { AuthorizationGrant, VerifiedIdentity } from '../domain/access.ts'
import { isEmail } from '../domain/access.ts'
import { ServiceError } from '../domain/errors.ts'
import { tidyName } from '../domain/names.ts'
import type { ControlWriter } from '../ports/control-writer.ts'
import type { IdentityProvider } from '../ports/identity.ts'
import type { SignedIn, SignInAttempt, SignInCodes } from '../ports/sign-in-codes.ts'
import type { Clock } from '../ports/system.ts'
import { mintToken } from './tokens.ts'
import type { AccessTokens } from './tokens.ts'

export interface SignInSettings {
  /** Who may get an account: anyone, nobody, or people with addresses in these e-mail domains. */
  readonly allowSignUp: boolean | readonly string[]
  /** From issue to expiry, however much it is used. */
  readonly mobileTokenLifetimeMs: number
}

interface Collaborators {
  readonly providers: ReadonlyMap<string, IdentityProvider>
  readonly controlWriter: ControlWriter
  readonly codes: SignInCodes
  readonly tokens: AccessTokens
  readonly clock: Clock
}

export class SignIn {
  readonly #with: Collaborators
  readonly #settings: SignInSettings

  constructor(collaborators: Collaborators, settings: SignInSettings) {
    this.#with = collaborators
    this.#settings = settings
  }

  /**
   * @param idp id of the provider that gave the code
   * @param appName what the app calls itself
   * @throws ServiceError `unknown_provider`, `invalid_grant`, `provider_failed`,
   *   `provider_timeout`, `sign_in_not_allowed`, `storage_full`
   */
  async signIn(idp: string, grant: AuthorizationGrant, appName: string): Promise<SignedIn> {
    const provider = this.#with.providers.get(idp)
    if (provider === undefined) throw new ServiceError('unknown_provider')
    const { code, codeVerifier, redirectUri } = grant
    const secret = JSON.stringify([idp, code, codeVerifier, redirectUri])
    const { signedIn, isRepeat } = await this.#with.codes.once(secret, (attempt) =>
      this.#exchange(attempt, provider, { idp, grant, appName }),
    )
    if (isRepeat && !(await this.#isGood(signedIn))) throw new ServiceError('invalid_grant')
    return signedIn
  }

  async #exchange(
    attempt: SignInAttempt,
    provider: IdentityProvider,
    { idp, grant, appName }: { idp: string; grant: AuthorizationGrant; appName: string },
  ): Promise<SignedIn> {
    attempt.identity ??= await provider.exchange(grant, attempt.exchange)
    attempt.exchange = {}
    return this.#issue(attempt.identity, { name: idp, appName: tidyName(appName) })
  }

  async #issue(
    verified: VerifiedIdentity,
    names: { readonly name: string; readonly appName: string },
  ): Promise<SignedIn> {
    const identity = tidied(verified)
    const { text, hash: tokenHash } = mintToken('mobile')
    const expiresAtMs = this.#with.clock.nowMs() + this.#settings.mobileTokenLifetimeMs
    const maySignUp = this.#maySignUp(identity.email)
    const token = { ...names, rights: ['sensors:read'] as const, hash: tokenHash, expiresAtMs }
    const signedIn = await this.#with.controlWriter.signIn({ identity, maySignUp, token })
    if (signedIn === undefined) {
      throw new ServiceError('sign_in_not_allowed', { hint: whyNot(identity, maySignUp) })
    }
    for (const tokenId of signedIn.endedTokenIds) this.#with.tokens.forgetToken(tokenId)
    return { token: text, expiresAtMs, user: signedIn.user }
  }

  #maySignUp(email: string | undefined): boolean {
    const { allowSignUp } = this.#settings
    if (typeof allowSignUp === 'boolean') return allowSignUp
    const domain = email?.slice(email.lastIndexOf('@') + 1).toLowerCase()
    return domain !== undefined && allowSignUp.includes(domain)
  }

  /** Whether the token of an earlier response still works: it may have been revoked. */
  async #isGood({ token }: SignedIn): Promise<boolean> {
    const principal = await this.#with.tokens.find(token, this.#with.clock.nowMs())
    return principal !== undefined
  }
}

/**
 * Only an address that a user can have counts, exactly as written: nobody has verified a corrected
 * form.
 */
function tidied(identity: VerifiedIdentity): VerifiedIdentity {
  const { email } = identity
  return {
    ...identity,
    email: email !== undefined && isEmail(email) ? email : undefined,
    name: tidyName(identity.name ?? '') || undefined,
  }
}

/** For the operator: the person is not told who has an account. */
function whyNot({ email, isEmailVerified }: VerifiedIdentity, maySignUp: boolean): string {
  if (email === undefined) return 'the provider names no e-mail address that a user can have'
  if (!isEmailVerified) return 'the provider does not vouch for the e-mail address (email_verified)'
  const other = 'the user with this e-mail address has another identity of this provider'
  return maySignUp ? other : `no user has this e-mail address, or ${other}`
}
