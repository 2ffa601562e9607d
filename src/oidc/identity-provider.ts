// IdentityProvider on OpenID Connect: authorization code with PKCE, for public and confidential
// clients. All requests of one exchange share one time limit. Failures are logged with their
// reason, once per new reason, but never a code, a token or a person's address.

import type { JWTVerifyGetKey } from 'jose'
import type { AuthorizationGrant, VerifiedIdentity } from '../domain/access.ts'
import { ServiceError } from '../domain/errors.ts'
import type { ExchangeProgress, IdentityProvider } from '../ports/identity.ts'
import type { Clock, Log } from '../ports/system.ts'
import { Discovery } from './discovery.ts'
import type { ProviderMetadata } from './discovery.ts'
import { askProvider, ProviderFault } from './provider-exchange.ts'
import { providerKeys, verifyIdToken } from './verify-id-token.ts'
import type { IdTokenClaims } from './verify-id-token.ts'

export interface OidcSettings {
  /** The operator's name for the provider. */
  readonly id: string
  readonly issuer: string
  readonly clientId: string
  /** `undefined`: a public client. */
  readonly clientSecret: string | undefined
  /** Shared by all requests of one exchange. */
  readonly timeoutMs: number
}

interface Collaborators {
  readonly clock: Clock
  readonly log: Log
}

type Members = Readonly<Record<string, unknown>>
type ProviderTokens = NonNullable<ExchangeProgress['tokens']>

/** The tokens of ten thousand codes may have to be kept, so longer ones are refused. */
const KEPT_CHARACTERS_MAX = 16 * 1024

export class OidcIdentityProvider implements IdentityProvider {
  readonly #with: Collaborators
  readonly #settings: OidcSettings
  readonly #discovery: Discovery
  #keys: { readonly jwksUri: string; readonly get: JWTVerifyGetKey } | undefined
  /** The failure logged last, until something succeeds. */
  #failure: string | undefined

  constructor(collaborators: Collaborators, settings: OidcSettings) {
    this.#with = collaborators
    this.#settings = settings
    this.#discovery = new Discovery(settings, (failure) => this.#note(failure))
  }

  authorizationEndpoint(): string | undefined {
    return this.#discovery.metadata?.authorizationEndpoint
  }

  start(): void {
    this.#discovery.start()
  }

  stop(): void {
    this.#discovery.stop()
  }

  async exchange(
    grant: AuthorizationGrant,
    progress: ExchangeProgress = {},
  ): Promise<VerifiedIdentity> {
    const signal = AbortSignal.timeout(this.#settings.timeoutMs)
    try {
      const identity = await before(signal, this.#exchange(grant, progress, signal))
      this.#note(undefined)
      return identity
    } catch (error) {
      if (error instanceof ServiceError) throw error
      this.#note(error)
      if (isTimeout(error)) throw new ServiceError('provider_timeout', { cause: error })
      if (error instanceof ProviderFault)
        throw new ServiceError('provider_failed', { cause: error })
      throw error
    }
  }

  async #exchange(
    grant: AuthorizationGrant,
    progress: ExchangeProgress,
    signal: AbortSignal,
  ): Promise<VerifiedIdentity> {
    const metadata = await this.#discovery.find()
    const tokens = progress.tokens ?? tokensOf(await this.#redeem(grant, metadata, signal))
    if (isSmall(tokens)) progress.tokens = tokens
    const { idToken, accessToken } = tokens
    const { issuer, clientId } = this.#settings
    const nowMs = this.#with.clock.nowMs()
    const expectation = { issuer, clientId, nowMs }
    const claims = await verifyIdToken(idToken, this.#keysAt(metadata.jwksUri), expectation)
    const said = await withEmail(claims, { metadata, accessToken, signal })
    return {
      issuer,
      subject: claims.sub,
      email: textOf(said['email']),
      isEmailVerified: said['email_verified'] === true || said['email_verified'] === 'true',
      name: textOf(said['name']),
    }
  }

  /** Exchanges the code. @returns the token endpoint's response */
  async #redeem(
    { code, codeVerifier, redirectUri }: AuthorizationGrant,
    metadata: ProviderMetadata,
    signal: AbortSignal,
  ): Promise<Members> {
    const form = new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      code_verifier: codeVerifier,
      redirect_uri: redirectUri,
    })
    const headers = this.#authenticate(form, metadata)
    const request = { method: 'POST', form, headers } as const
    const { status, members } = await askProvider(metadata.tokenEndpoint, request, signal)
    if (status === 200) return members
    if (status < 500 && members['error'] === 'invalid_grant')
      throw new ServiceError('invalid_grant')
    const reason = /^[\w.-]{1,64}$/.exec(textOf(members['error']) ?? '')?.[0] ?? 'no reason given'
    throw new ProviderFault(`the token endpoint responded ${status}: ${reason}`)
  }

  /** Adds the client's credentials to the form, or returns them as headers. */
  #authenticate(form: URLSearchParams, metadata: ProviderMetadata): Record<string, string> {
    const { clientId, clientSecret } = this.#settings
    const methods = metadata.tokenEndpointAuthMethods
    if (clientSecret !== undefined && methods.includes('client_secret_basic')) {
      const pair = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`
      return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
    }
    form.set('client_id', clientId)
    if (clientSecret !== undefined) form.set('client_secret', clientSecret)
    return {}
  }

  #keysAt(jwksUri: string): JWTVerifyGetKey {
    if (this.#keys?.jwksUri !== jwksUri) {
      this.#keys = { jwksUri, get: providerKeys(jwksUri, this.#settings.timeoutMs) }
    }
    return this.#keys.get
  }

  #note(failure: unknown): void {
    const { log } = this.#with
    const provider = this.#settings.id
    if (failure === undefined) {
      if (this.#failure !== undefined) log.info('an identity provider works again', { provider })
      this.#failure = undefined
      return
    }
    const reason = isTimeout(failure) ? 'no response in time' : (failure as Error).message
    if (reason !== this.#failure) log.warn('an identity provider fails', { provider, reason })
    this.#failure = reason
  }
}

/** @throws ProviderFault when there is no ID token */
function tokensOf({ id_token: idToken, access_token: accessToken }: Members): ProviderTokens {
  if (typeof idToken !== 'string') throw new ProviderFault('its response has no ID token')
  return { idToken, accessToken: textOf(accessToken) }
}

function isSmall({ idToken, accessToken = '' }: ProviderTokens): boolean {
  return idToken.length + accessToken.length <= KEPT_CHARACTERS_MAX
}

interface UserinfoAccess {
  readonly metadata: ProviderMetadata
  readonly accessToken: string | undefined
  readonly signal: AbortSignal
}

/** The claims, plus those of the userinfo endpoint if they have no e-mail address. */
async function withEmail(
  claims: IdTokenClaims,
  { metadata, accessToken, signal }: UserinfoAccess,
): Promise<Members> {
  const { userinfoEndpoint } = metadata
  if (claims['email'] !== undefined || userinfoEndpoint === undefined) return claims
  if (accessToken === undefined) return claims
  const headers = { authorization: `Bearer ${accessToken}` }
  const { status, members } = await askProvider(userinfoEndpoint, { headers }, signal)
  if (status !== 200) throw new ProviderFault(`the userinfo endpoint responded ${status}`)
  if (members['sub'] !== claims.sub)
    throw new ProviderFault('the userinfo response is for another subject')
  return { name: claims['name'], ...members }
}

/** Settles like the promise, unless the signal comes first. */
async function before<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise: ended, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason as Error)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([work, ended])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'TimeoutError'
}

/** RFC 6749 requires both parts of Basic to be encoded like form values. */
function formEncoded(text: string): string {
  return new URLSearchParams({ x: text }).toString().slice('x='.length)
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
