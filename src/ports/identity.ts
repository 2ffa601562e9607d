// Identity providers, which verify who people are.

import type { AuthorizationGrant, VerifiedIdentity } from '../domain/access.ts'

/** How far the exchange of a code has come. */
export interface ExchangeProgress {
  /** The provider's response to the code, which it accepts only once. */
  tokens?: { readonly idToken: string; readonly accessToken: string | undefined }
}

/** One identity provider. */
export interface IdentityProvider {
  /** Where an app sends its user; `undefined` until the provider has been reached. */
  authorizationEndpoint(): string | undefined

  /**
   * Has the provider exchange an authorization code, and verifies the response.
   *
   * @param progress of this grant, updated here: a code that the provider has accepted is not
   *   presented again if a later step fails
   * @throws ServiceError `invalid_grant` if the provider rejects the code or its verifier
   * @throws ServiceError `provider_failed` if it fails or its response cannot be verified
   * @throws ServiceError `provider_timeout` if it does not respond in time
   */
  exchange(grant: AuthorizationGrant, progress: ExchangeProgress): Promise<VerifiedIdentity>

  /** Begins to look for the provider in the background, and retries until it is found. */
  start(): void

  stop(): void
}
