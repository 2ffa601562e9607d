// What an operator can have done: users, tokens and sensors made and listed, measurements imported.
// The same operations are carried out by a running service, over the socket in its DATA_DIR, or by
// a command in its own process when no service runs. So arguments, answers and failures are plain
// JSON.

import type { AccessToken, TokenState, User, UserIdentity } from '../domain/access.ts'
import { ServiceError } from '../domain/errors.ts'
import type { RequestFault } from '../domain/errors.ts'
import type { SubmittedMeasurement } from '../domain/measurement.ts'
import type { Sensor, SensorChange } from '../domain/sensor.ts'
import type { RefusedEntry, SkippedSeries } from '../ports/refused.ts'
import type { SetAsideMeasurement } from '../ports/store-upkeep.ts'

/** Each of them throws OperationError, and ServiceError where a port does. */
export interface Operations {
  createUser(args: { readonly email: string; readonly name?: string }): Promise<User>
  listUsers(args: Nothing): Promise<readonly ListedUser[]>
  /** What `deleteUser` would delete now. */
  previewUserDeletion(args: OfUser): Promise<DeletedUser>
  /** The user with everything of theirs; their measurements leave the store soon after. */
  deleteUser(args: OfUser): Promise<DeletedUser>
  /** Ends the user's identity at an issuer, and all their mobile tokens. */
  unlinkIdentity(args: IdentityOfUser): Promise<Nothing>
  createToken(args: TokenOrder): Promise<CreatedToken>
  /** Those that are good for nothing any more too. */
  listTokens(args: OfUser): Promise<readonly ListedToken[]>
  revokeToken(args: OfId): Promise<Nothing>
  /** A new token like a daemon's, and an end for the old one: it works on for the overlap. */
  rotateToken(args: TokenRotationOrder): Promise<NewTokenForOld>
  createSensor(args: SensorOrder): Promise<Sensor>
  listSensors(args: OfUser): Promise<readonly Sensor[]>
  /** Changes alias, compensation or both, as the owner can over the API. */
  changeSensor(args: SensorChangeOrder): Promise<Sensor>
  /** What `deleteSensor` would delete now. */
  previewSensorDeletion(args: OfId): Promise<DeletedSensor>
  /** The sensor with its measurements, which leave the store soon after. */
  deleteSensor(args: OfId): Promise<DeletedSensor>
  /** What the measurement store has refused: how much, and the first `setAsideListedMax`. */
  listSetAside(args: Nothing): Promise<SetAsideList>
  /** Has it written to the store again, all of it without ids. */
  retrySetAside(args: SetAsideChoice): Promise<Counted>
  /** How many `dropSetAside` would delete now. */
  previewDrop(args: SetAsideChoice): Promise<Counted>
  /** Deletes it permanently, all of it without ids. */
  dropSetAside(args: SetAsideChoice): Promise<Counted>
  /** What was refused: how much, and the first `refusedListedMax`. */
  listRefused(args: Nothing): Promise<RefusedList>
  /** Series of line protocol without a temperature; `line` is readable. */
  listSkipped(args: Nothing): Promise<readonly ListedSkipped[]>
  /** Tries to store it again, all of it without ids. @returns how much is stored */
  retryRefused(args: SetAsideChoice): Promise<Counted>
  /** Deletes it permanently, all of it without ids. */
  dropRefused(args: SetAsideChoice): Promise<Counted>
  importRules(args: OfUser): Promise<ImportRules>
  /**
   * Stores up to `importMeasurementsMax` measurements, in order. Resolves when they are on disk.
   * What throws may have stored some: sent again with the same event ids nothing is stored twice.
   */
  importMeasurements(args: ImportOrder): Promise<ImportReceipt>
}

export type OperationName = keyof Operations

/** JSON has no `undefined`. */
export type Nothing = Readonly<Record<string, never>>

export interface SetAsideList {
  readonly count: number
  readonly measurements: readonly SetAsideMeasurement[]
}

export interface SetAsideChoice {
  readonly ids?: readonly number[]
}

/** `content` is readable. */
export type ListedRefused = RefusedEntry

export type ListedSkipped = Omit<SkippedSeries, 'series'>

export interface RefusedList {
  readonly count: number
  /** How many had to make room for newer ones. */
  readonly dropped: number
  readonly entries: readonly ListedRefused[]
}

/** More are counted and not listed. */
export const refusedListedMax = 1_000

export const skippedListedMax = 10_000

export interface Counted {
  readonly count: number
}

/** More are counted and not listed. */
export const setAsideListedMax = 10_000

/** A user is named by e-mail address. */
export interface OfUser {
  readonly user: string
}

export interface OfId {
  readonly id: number
}

export interface ListedUser extends User {
  readonly identities: readonly UserIdentity[]
}

export interface DeletedUser {
  readonly id: number
  /** How many sensors go with the user. */
  readonly sensors: number
  /** How many measurements of these sensors were accepted. */
  readonly measurements: number
}

export interface DeletedSensor {
  readonly id: number
  readonly serialNumber: string
  readonly alias: string
  /** The e-mail address of the owner. */
  readonly user: string
  /** How many measurements of it were accepted. */
  readonly measurements: number
}

export interface SensorChangeOrder extends SensorChange {
  readonly id: number
}

export interface IdentityOfUser extends OfUser {
  readonly issuer: string
}

export interface TokenOrder extends OfUser {
  readonly name: string
  /** Goes before every serial number that comes with it in line protocol. */
  readonly serialNumberPrefix?: string
  /** What the token may do; everything when left out. */
  readonly scopes?: readonly string[]
  /** How long it is good for; for ever when left out. */
  readonly lifetimeMs?: number
}

export interface CreatedToken {
  readonly id: number
  /** The token's text: shown this once, kept nowhere. */
  readonly token: string
}

export interface TokenRotationOrder extends OfId {
  readonly overlapMs: number
}

export interface NewTokenForOld extends CreatedToken {
  readonly oldExpiresAtMs: number
}

export interface ListedToken extends AccessToken {
  readonly state: TokenState
}

export interface SensorOrder extends OfUser {
  readonly serialNumber: string
  readonly alias?: string
}

/** What a measurement of an import is held against before anything is stored. */
export interface ImportRules {
  readonly measuredAtMsMin: number
  readonly measuredAtMsMax: number
  /** Whether unknown serial numbers are registered. */
  readonly mayRegisterSensors: boolean
  /** Keys of the user's sensors, see `serialNumberKey`, and how many there may be. */
  readonly sensorKeys: readonly string[]
  readonly sensorsMax: number
}

export interface ImportOrder extends OfUser {
  readonly measurements: readonly SubmittedMeasurement[]
}

export interface ImportReceipt {
  readonly created: number
  readonly duplicates: number
  /** Indices of measurements whose event id was accepted before with other content. */
  readonly conflicts: readonly number[]
}

export interface OperationsSettings {
  readonly mobileTokenIdleMs: number
  readonly mayRegisterSensors: boolean
  readonly sensorsPerUserMax: number
  readonly futureMsMax: number
  readonly measuredAtMsMin: number
  /** See `LineNames`. */
  readonly lineFields: readonly string[]
  readonly lineSerialTags: readonly string[]
}

/** Measurements of one `importMeasurements`. */
export const importMeasurementsMax = 4_000

/** Why an operation was not done, for a person. */
export interface Failure {
  /** `usage`: what was asked for makes no sense; `failed`: it does, but it could not be done. */
  readonly kind: 'usage' | 'failed'
  readonly message: string
  /** What to do about it. */
  readonly hint?: string
  /** When the same is worth trying again. */
  readonly retryAfterSeconds?: number
  /** Of an import: what is wrong with which of its measurements. */
  readonly faults?: readonly RequestFault[]
}

/** An operation that was not done. */
export class OperationError extends Error {
  readonly failure: Failure

  constructor(failure: Failure, options?: ErrorOptions) {
    super(failure.message, options)
    this.name = 'OperationError'
    this.failure = failure
  }
}

/**
 * Makes a failure of what could not be done.
 *
 * @param hint what to do about it
 */
export function failed(message: string, hint?: string, options?: ErrorOptions): OperationError {
  const failure = { kind: 'failed' as const, message, ...(hint !== undefined && { hint }) }
  return new OperationError(failure, options)
}

/** @returns what there is to tell, `undefined` for an error that is a fault of ours */
export function failureOf(error: unknown): Failure | undefined {
  if (error instanceof OperationError) return error.failure
  if (!(error instanceof ServiceError) || error.code === 'internal_error') return undefined
  return {
    kind: 'failed',
    message: error.detail ?? error.code.replaceAll('_', ' '),
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    ...(error.retryAfterSeconds === undefined
      ? {}
      : { retryAfterSeconds: error.retryAfterSeconds }),
    ...(error.faults === undefined ? {} : { faults: error.faults }),
  }
}
