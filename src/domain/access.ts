// Users, tokens and rights.

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

/** What is absent stays as it is. */
export interface UserChange {
  readonly email?: string
  readonly name?: string
}

/** An access token as stored: never its text, only its rights and times. */
export interface AccessToken {
  readonly id: number
  readonly userId: number
  readonly kind: TokenKind
  readonly name: string
  readonly rights: readonly Right[]
  /** The prefix of every serial number that it sends as line protocol; `''`: none. */
  readonly serialNumberPrefix: string
  /** What the app that signed in calls itself; `''`: unknown, or a daemon token. */
  readonly appName: string
  /** Of a daemon token that its owner made: in which session; `null`: an operator made it. */
  readonly madeInSessionId: number | null
  readonly createdAtMs: number
  readonly expiresAtMs: number | null
  readonly lastUsedAtMs: number | null
  readonly revokedAtMs: number | null
}

export interface TokenRotation {
  /** SHA-256 of the new token's text. */
  readonly hash: Uint8Array
  readonly nowMs: number
  /** How long the old token keeps working, unless it expires earlier; 0: it ends by any clock. */
  readonly overlapMs: number
  /** The session in which its owner rotates it; absent: the new one is made by an operator. */
  readonly madeInSessionId?: number
}

/** A token that replaces another, which keeps working for a while. */
export interface RotatedToken {
  readonly token: AccessToken
  readonly oldExpiresAtMs: number
}

/** Only live tokens work; an idle one is a mobile token that was not used for too long. */
export type TokenState = 'live' | 'revoked' | 'expired' | 'idle'

/** @param lastUsedAtMs may be later than the stored time */
export function tokenState(
  token: AccessToken,
  lastUsedAtMs: number | null,
  nowMs: number,
  mobileTokenIdleMs: number,
): TokenState {
  if (token.revokedAtMs !== null) return 'revoked'
  if (token.expiresAtMs !== null && token.expiresAtMs <= nowMs) return 'expired'
  const usedAtMs = Math.max(lastUsedAtMs ?? 0, token.createdAtMs)
  return token.kind === 'mobile' && usedAtMs + mobileTokenIdleMs <= nowMs ? 'idle' : 'live'
}

/** The authenticated caller of a request. */
export interface Principal {
  readonly token: AccessToken
  readonly user: User
}

/** The name of tokens that came from a link: no identity provider has this id. */
export const LINK = 'link'

/** A person at an identity provider; never an e-mail address alone. */
export interface Identity {
  readonly issuer: string
  /** The provider's id for the person. */
  readonly subject: string
}

/** An identity verified by the provider, with the provider's claims about the person. */
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

/** What an app brings back from the identity provider. */
export interface AuthorizationGrant {
  readonly code: string
  readonly codeVerifier: string
  readonly redirectUri: string
}

/** Whether a principal's token has a right. */
export function mayUse(principal: Principal, right: Right): boolean {
  return principal.token.rights.includes(right)
}

const EMAIL_CHARACTERS_MAX = 254
const EMAIL = /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u

/** Whether a user could have this e-mail address. */
export function isEmail(text: string): boolean {
  return text.length <= EMAIL_CHARACTERS_MAX && EMAIL.test(text) && text.isWellFormed()
}

/** An address in a form that is equal for equal addresses: only ASCII letters are folded. */
export function foldEmail(email: string): string {
  return email.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}
