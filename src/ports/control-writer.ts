// Changing users, access tokens and sensors.

import type {
  AccessToken,
  Right,
  RotatedToken,
  TokenKind,
  TokenRotation,
  User,
  VerifiedIdentity,
} from '../domain/access.ts'
import type { Sensor, SensorChange } from '../domain/sensor.ts'
import type { RefusedWriter } from './refused.ts'

/** Changing users, tokens and sensors. Each call is one durable transaction. */
export interface ControlWriter extends RefusedWriter {
  /** @returns the user, or `undefined` when the address is taken */
  createUser(email: string, name: string): Promise<User | undefined>
  /**
   * Their sensors are deleted, their tokens and identities end, and what is known of the person is
   * wiped. The events they sent stay known, their id is never given again.
   *
   * @returns how many sensors they had, `undefined` when there is no such user
   */
  deleteUser(userId: number): Promise<number | undefined>
  createToken(token: NewAccessToken): Promise<AccessToken>
  /**
   * A person signs in: finds the user of the identity, or the one with the verified e-mail address
   * who has no identity at this issuer yet, or makes one; and makes a mobile token of that user.
   *
   * @returns `undefined` when none of this is possible: nothing has changed then
   */
  signIn(order: SignInOrder): Promise<SignedInUser | undefined>
  /** Ends an identity and the user's mobile tokens. @returns whether the user had one there */
  unlinkIdentity(userId: number, issuer: string): Promise<boolean>
  /** @returns whether a live token had that id */
  revokeToken(tokenId: number): Promise<boolean>
  /** Makes a token like a live one of a daemon, which then ends. @returns `undefined`: none such */
  rotateToken(tokenId: number, order: TokenRotation): Promise<RotatedToken | undefined>
  /** Last uses by token id; called now and then, not for each use. */
  recordTokenUses(lastUsedAtMs: ReadonlyMap<number, number>): Promise<void>
  /** @returns the sensor, or why not */
  createSensor(
    userId: number,
    serialNumber: string,
    alias: string | undefined,
  ): Promise<Sensor | 'taken' | 'quota'>
  /** @returns the sensor after the change, `undefined` when the user has none of that id */
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
  /** SHA-256 of the token's text. */
  readonly hash: Buffer
  readonly expiresAtMs: number | null
}

export interface SignInOrder {
  /** Its e-mail address is one that a user can have. */
  readonly identity: VerifiedIdentity
  /** Whether a user may be made for it. */
  readonly maySignUp: boolean
  readonly token: Pick<NewAccessToken, 'name' | 'rights' | 'hash' | 'expiresAtMs'>
}

export interface SignedInUser {
  readonly user: User
  readonly token: AccessToken
  /** Mobile tokens of the user that ended with it: beyond a hundred, the least recently used. */
  readonly endedTokenIds: readonly number[]
}
