// Identity providers, who vouch for people.

import type { AuthorizationGrant, VerifiedIdentity } from '../domain/access.ts'

/** How far the exchange of a code has come. */
export interface ExchangeProgress {
  /** What the provider gave for the code, which it takes only once. */
  tokens?: { readonly idToken: string; readonly accessToken: string | undefined }
}

/** One identity provider that vouches for people. */
export interface IdentityProvider {
  /** Where a phone sends its user; `undefined` as long as the provider was not reached. */
  authorizationEndpoint(): string | undefined

  /**
   * Has the provider exchange an authorization code, and verifies what it says.
   *
   * @param progress of this grant, kept up here: a code that the provider has taken is not
   *   presented again when what came after it has failed
   * @throws ServiceError `invalid_grant` when the provider refuses the code or its verifier
   * @throws ServiceError `provider_failed` when it fails or its answer does not verify
   * @throws ServiceError `provider_timeout` when it does not answer in time
   */
  exchange(grant: AuthorizationGrant, progress: ExchangeProgress): Promise<VerifiedIdentity>

  /** Begins to look for the provider in the background, again and again until it is there. */
  start(): void

  stop(): void
}
