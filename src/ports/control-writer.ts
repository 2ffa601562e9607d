// Changing users, access tokens and sensors.

import type {
  AccessToken,
  Right,
  RotatedToken,
  TokenKind,
  TokenRotation,
  User,
  UserChange,
  VerifiedIdentity,
} from '../domain/access.ts'
import type { Sensor, SensorChange } from '../domain/sensor.ts'
import type { RefusedWriter } from './refused.ts'
import type { NewSignInLink } from './sign-in-links.ts'

/** Changing users, tokens and sensors. Each call is one durable transaction. */
export interface ControlWriter extends RefusedWriter {
  /** @returns the user, or `undefined` if the address is taken */
  createUser(email: string, name: string): Promise<User | undefined>
  /**
   * Gives a user another address, name or both; a name that was the address follows it.
   *
   * @returns the user after the change, `undefined` if there is none, or somebody has the address
   */
  renameUser(userId: number, change: UserChange): Promise<User | undefined>
  /**
   * Deletes the user's sensors, ends their tokens and identities, and erases personal data. Event
   * ids they used stay known, and their user id is never reused.
   *
   * @returns how many sensors they had, `undefined` if there is no such user
   */
  deleteUser(userId: number): Promise<number | undefined>
  /**
   * The same for a user who signed up and has no daemon token that works.
   *
   * @returns whether the user was one: nothing has changed otherwise; `undefined` if there is no
   *   such user any more
   */
  deleteAccount(userId: number): Promise<boolean | undefined>
  createToken(token: NewAccessToken): Promise<AccessToken>
  /**
   * Creates a daemon token for its owner, in a session. Of the user's sessions and own tokens that
   * were ended, the last `endedTokensKeptMax` are kept; signing in does the same.
   *
   * @returns or why not
   */
  createOwnToken(token: NewOwnToken): Promise<AccessToken | OwnTokenRefusal>
  /**
   * Signs a person in: finds the user of the identity, or the one with the verified e-mail address
   * and no identity at this issuer yet, or creates one; then creates a mobile token for that user.
   * An identity that joins a user ends that user's links, and the sessions that began with one.
   *
   * @returns `undefined` if none of this is possible: nothing has changed then
   */
  signIn(order: SignInOrder): Promise<SignedInUser | undefined>
  /**
   * Adds a link. Beyond `signInLinksPerUserMax` open ones of the user, the oldest ends. All end
   * with the user, with a restore, and when an identity joins the user.
   */
  createSignInLink(link: NewSignInLink): Promise<void>
  /**
   * Creates a mobile token, once: a repeat with the same token finds that one for two minutes.
   *
   * @returns `undefined` for a link that is unknown, used or expired: nothing has changed then
   */
  redeemSignInLink(order: LinkRedemption): Promise<SignedInUser | undefined>
  /** Removes an identity and the user's mobile tokens. @returns whether the user had it */
  unlinkIdentity(userId: number, issuer: string): Promise<boolean>
  /** @returns whether a live token had that id */
  revokeToken(tokenId: number): Promise<boolean>
  /** Replaces a live daemon token with a new one. @returns `undefined`: there is no such token */
  rotateToken(tokenId: number, order: TokenRotation): Promise<RotatedToken | undefined>
  /** The same for its owner, in a session. @returns or why not */
  rotateOwnToken(
    tokenId: number,
    order: OwnTokenRotation,
  ): Promise<RotatedToken | OwnTokenRefusal | undefined>
  /** Times of last use by token id; called now and then, not for each use. */
  recordTokenUses(lastUsedAtMs: ReadonlyMap<number, number>): Promise<void>
  /** @returns the sensor, or why it was not created */
  createSensor(
    userId: number,
    serialNumber: string,
    alias: string | undefined,
  ): Promise<Sensor | 'taken' | 'quota'>
  /** @returns the sensor after the change, `undefined` if the user has no such sensor */
  changeSensor(userId: number, sensorId: number, change: SensorChange): Promise<Sensor | undefined>
  /** Its measurements are deleted from the store afterwards. @returns whether the user had it */
  deleteSensor(userId: number, sensorId: number): Promise<boolean>
}

export interface NewAccessToken {
  readonly userId: number
  readonly kind: TokenKind
  readonly name: string
  readonly rights: readonly Right[]
  readonly serialNumberPrefix?: string
  readonly appName?: string
  readonly madeInSessionId?: number
  /** SHA-256 of the token's text. */
  readonly hash: Buffer
  readonly expiresAtMs: number | null
}

export type NewOwnToken = NewAccessToken & {
  readonly kind: 'daemon'
  readonly madeInSessionId: number
  readonly nowMs: number
}

export type OwnTokenRotation = TokenRotation & {
  readonly userId: number
  readonly madeInSessionId: number
}

/** `too-many`: the owner has made `ownTokensPerUserMax` that work. */
export type OwnTokenRefusal = 'session-ended' | 'too-many'

export interface SignInOrder {
  /** Its e-mail address is one that a user can have. */
  readonly identity: VerifiedIdentity
  /** Whether a user may be created for it. */
  readonly maySignUp: boolean
  readonly token: Pick<NewAccessToken, 'name' | 'appName' | 'rights' | 'hash' | 'expiresAtMs'>
}

export interface LinkRedemption {
  readonly linkHash: Uint8Array
  readonly token: Pick<NewAccessToken, 'name' | 'appName' | 'rights' | 'hash' | 'expiresAtMs'>
  /** Who becomes the first user; `undefined`: nobody. */
  readonly firstUser: { readonly email: string; readonly name: string } | undefined
  readonly nowMs: number
}

export interface SignedInUser {
  readonly user: User
  readonly token: AccessToken
  /** Mobile tokens of the user that this ended, such as the oldest beyond a hundred. */
  readonly endedTokenIds: readonly number[]
}
