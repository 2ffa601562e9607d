// Who may do what.

export type TokenKind = 'daemon' | 'mobile'

export type Right = 'measurements:write' | 'sensors:read' | 'sensors:write'

export const ALL_RIGHTS: readonly Right[] = ['measurements:write', 'sensors:read', 'sensors:write']

export const TOKEN_PREFIX: Readonly<Record<TokenKind, string>> = {
  daemon: 'thd_live_',
  mobile: 'thm_live_',
}

export interface User {
  readonly id: number
  readonly email: string
  /** Falls back to the e-mail address. */
  readonly name: string
}

/** An access token as it is kept: never its text, only what it allows and how long. */
export interface AccessToken {
  readonly id: number
  readonly userId: number
  readonly kind: TokenKind
  readonly name: string
  readonly rights: readonly Right[]
  /** Before every serial number that comes with it in line protocol; `''`: nothing. */
  readonly serialNumberPrefix: string
  readonly createdAtMs: number
  readonly expiresAtMs: number | null
  readonly lastUsedAtMs: number | null
  readonly revokedAtMs: number | null
}

export interface TokenRotation {
  /** SHA-256 of the new token's text. */
  readonly hash: Uint8Array
  readonly nowMs: number
  /** How long the old token works on; one that expires earlier still does. */
  readonly overlapMs: number
}

/** A token in place of another one, which works on for a while. */
export interface RotatedToken {
  readonly token: AccessToken
  readonly oldExpiresAtMs: number
}

/** Only a live token is good for anything; an idle one, a mobile one, was not used for too long. */
export type TokenState = 'live' | 'revoked' | 'expired' | 'idle'

/** @param lastUsedAtMs may be later than what is kept of it */
export function tokenState(
  token: AccessToken,
  lastUsedAtMs: number | null,
  nowMs: number,
  mobileTokenIdleMs: number,
): TokenState {
  if (token.revokedAtMs !== null) return 'revoked'
  if (token.expiresAtMs !== null && token.expiresAtMs <= nowMs) return 'expired'
  const usedAtMs = lastUsedAtMs ?? token.createdAtMs
  return token.kind === 'mobile' && usedAtMs + mobileTokenIdleMs <= nowMs ? 'idle' : 'live'
}

/** The authenticated caller of a request. */
export interface Principal {
  readonly token: AccessToken
  readonly user: User
}

/** A person at an identity provider; never an e-mail address alone. */
export interface Identity {
  readonly issuer: string
  /** The provider's own name for the person. */
  readonly subject: string
}

/** An identity as the provider has vouched for it, and what it says of the person. */
export interface VerifiedIdentity extends Identity {
  readonly email: string | undefined
  readonly isEmailVerified: boolean
  readonly name: string | undefined
}

/** An identity that belongs to a user. */
export interface UserIdentity extends Identity {
  readonly userId: number
  readonly createdAtMs: number
}

/** What a phone brings back from the identity provider. */
export interface AuthorizationGrant {
  readonly code: string
  readonly codeVerifier: string
  readonly redirectUri: string
}

/** Whether a principal's token carries a right. */
export function mayUse(principal: Principal, right: Right): boolean {
  return principal.token.rights.includes(right)
}

const EMAIL_CHARACTERS_MAX = 254
const EMAIL = /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u

/** Whether a user could have this e-mail address. */
export function isEmail(text: string): boolean {
  return text.length <= EMAIL_CHARACTERS_MAX && EMAIL.test(text) && text.isWellFormed()
}

/** An address in the form in which two spellings of it are equal: ASCII letters folded only. */
export function foldEmail(email: string): string {
  return email.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}
