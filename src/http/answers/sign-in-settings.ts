// What phones are told before anyone has signed in, and which redirect URIs are taken.

export interface SignInProviderSettings {
  readonly id: string
  /** For a person. */
  readonly label: string
  readonly issuer: string
  readonly clientId: string
  readonly scopes: readonly string[]
  /** What phones are told to use; taken besides those of all providers. */
  readonly redirectUri: string
}

export interface MobileSettings {
  /** Whether phones may change alias and compensation. */
  readonly mayEdit: boolean
  /** Whether people make daemon tokens for themselves. */
  readonly mayMakeTokens: boolean
  /** Whether people who signed up may delete their account. */
  readonly mayDeleteAccount: boolean
  /** A sensor not heard from for so long is offline. */
  readonly offlineAfterMs: number
  /** Older apps ask their users to update; `undefined`: any will do. */
  readonly minimumVersion: string | undefined
  readonly app: { readonly name: string; readonly version: string }
  readonly links: Readonly<Partial<Record<'website' | 'privacy' | 'terms' | 'support', string>>>
  /** Taken from any provider. */
  readonly redirectUris: readonly string[]
  /** Where the app is called back; `undefined` when there is no provider. */
  readonly callbackUrl: string | undefined
  readonly signInProviders: readonly SignInProviderSettings[]
}

/** Whether a redirect URI may be used with a provider: compared byte for byte. */
export function isRedirectUri(
  redirectUri: string,
  { redirectUri: own }: SignInProviderSettings,
  { redirectUris }: MobileSettings,
): boolean {
  return redirectUri === own || redirectUris.includes(redirectUri)
}
