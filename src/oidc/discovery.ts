// An identity provider's metadata (OpenID Connect Discovery): fetched in the background until it
// is found, cached, and refreshed now and then. The cached metadata stays in use while the provider
// cannot be reached.

import { isSecureUrl } from '../domain/secure-url.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../domain/time.ts'
import { askProvider, ProviderFault } from './provider-exchange.ts'

const REFRESH_MS = HOUR_MS
const FIRST_RETRY_MS = SECOND_MS
const RETRY_MS_MAX = MINUTE_MS

export interface ProviderMetadata {
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  readonly jwksUri: string
  readonly userinfoEndpoint: string | undefined
  /** How a confidential client authenticates at the token endpoint. */
  readonly tokenEndpointAuthMethods: readonly string[]
}

export interface DiscoverySettings {
  readonly issuer: string
  /** Time limit of one attempt. */
  readonly timeoutMs: number
}

export class Discovery {
  readonly #settings: DiscoverySettings
  /** Called after each attempt, with the error if it failed. */
  readonly #onAttempt: (failure: unknown) => void
  #metadata: ProviderMetadata | undefined
  #attempt: Promise<ProviderMetadata> | undefined
  #timer: NodeJS.Timeout | undefined
  readonly #stopping = new AbortController()

  constructor(settings: DiscoverySettings, onAttempt: (failure: unknown) => void) {
    this.#settings = settings
    this.#onAttempt = onAttempt
  }

  get metadata(): ProviderMetadata | undefined {
    return this.#metadata
  }

  /**
   * The cached metadata, or, if there is none yet, the result of an attempt made now.
   *
   * @throws ProviderFault, DOMException `TimeoutError`
   */
  async find(): Promise<ProviderMetadata> {
    return this.#metadata ?? (await this.#lookUp())
  }

  start(): void {
    void this.#keepLooking(FIRST_RETRY_MS)
  }

  stop(): void {
    this.#stopping.abort()
    clearTimeout(this.#timer)
  }

  async #keepLooking(retryMs: number): Promise<void> {
    let nextMs: number = REFRESH_MS
    let nextRetryMs: number = FIRST_RETRY_MS
    try {
      await this.#lookUp()
    } catch {
      // Reported to `onAttempt`.
      nextMs = retryMs
      nextRetryMs = Math.min(retryMs * 2, RETRY_MS_MAX)
    }
    if (this.#stopping.signal.aborted) return
    this.#timer = setTimeout(() => void this.#keepLooking(nextRetryMs), nextMs).unref()
  }

  /** Concurrent callers share the attempt. */
  async #lookUp(): Promise<ProviderMetadata> {
    this.#attempt ??= this.#read()
    try {
      this.#metadata = await this.#attempt
      this.#onAttempt(undefined)
      return this.#metadata
    } catch (error) {
      if (!this.#stopping.signal.aborted) this.#onAttempt(error)
      throw error
    } finally {
      this.#attempt = undefined
    }
  }

  async #read(): Promise<ProviderMetadata> {
    const { issuer, timeoutMs } = this.#settings
    const signal = AbortSignal.any([AbortSignal.timeout(timeoutMs), this.#stopping.signal])
    return (await discover(issuer, signal)).metadata
  }
}

/**
 * Asks once.
 *
 * @returns the response's `Date` header and the metadata
 * @throws ProviderFault, DOMException `TimeoutError`
 */
export async function discover(
  issuer: string,
  signal: AbortSignal,
): Promise<{ readonly metadata: ProviderMetadata; readonly date: string | null }> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const { status, members, date } = await askProvider(url, {}, signal)
  if (status !== 200) throw new ProviderFault(`discovery answers ${status}`)
  return { metadata: toMetadata(members, issuer), date }
}

/** @throws ProviderFault when the issuer differs, or something is missing or insecure */
function toMetadata(members: Readonly<Record<string, unknown>>, issuer: string): ProviderMetadata {
  if (members['issuer'] !== issuer) {
    const named = JSON.stringify(members['issuer'] ?? null).slice(0, 256)
    throw new ProviderFault(`discovery names the issuer ${named}, the settings ${issuer}`)
  }
  const address = (name: string): string => {
    const url = members[name]
    if (typeof url === 'string' && isSecureUrl(url)) return url
    throw new ProviderFault(`discovery has no ${name} with https`)
  }
  const methods = members['token_endpoint_auth_methods_supported']
  return {
    authorizationEndpoint: address('authorization_endpoint'),
    tokenEndpoint: address('token_endpoint'),
    jwksUri: address('jwks_uri'),
    userinfoEndpoint:
      members['userinfo_endpoint'] === undefined ? undefined : address('userinfo_endpoint'),
    tokenEndpointAuthMethods: Array.isArray(methods)
      ? methods.filter((method): method is string => typeof method === 'string')
      : ['client_secret_basic'],
  }
}
