// What an operator can do: create and list users, tokens and sensors, import measurements, and
// more. A running service carries out the same operations over the socket in its DATA_DIR, as does
// a command in its own process when no service runs. So arguments, results and failures are plain
// JSON.

import type { AccessToken, TokenState, User, UserChange, UserIdentity } from '../domain/access.ts'
import { ServiceError } from '../domain/errors.ts'
import type { RequestFault } from '../domain/errors.ts'
import type { SubmittedMeasurement } from '../domain/measurement.ts'
import type { OnlineSettings, Sensor, SensorChange } from '../domain/sensor.ts'
import type { TimeRange } from '../domain/time.ts'
import type { RefusedEntry, SkippedEntry } from '../ports/refused.ts'
import type { SetAsideMeasurement } from '../ports/store-upkeep.ts'

/** Each throws OperationError, and ServiceError where a port does. */
export interface Operations {
  createUser(args: { readonly email: string; readonly name?: string }): Promise<User>
  listUsers(args: Nothing): Promise<readonly ListedUser[]>
  /** Changes address, name or both; a name that was the address follows it. */
  renameUser(args: UserRenaming): Promise<User>
  /** What `deleteUser` would delete now. */
  previewUserDeletion(args: OfUser): Promise<DeletedUser>
  /** Deletes the user with everything they own; their measurements leave the store soon after. */
  deleteUser(args: OfUser): Promise<DeletedUser>
  /** Removes the user's identity at an issuer, and all their mobile tokens. */
  unlinkIdentity(args: IdentityOfUser): Promise<Nothing>
  /** A one-time link with which the user signs in. */
  createLink(args: LinkOrder): Promise<CreatedLink>
  createToken(args: TokenOrder): Promise<CreatedToken>
  /** Includes tokens that no longer work. */
  listTokens(args: OfUser): Promise<readonly ListedToken[]>
  revokeToken(args: OfId): Promise<Nothing>
  /** Creates a token like an existing one, which keeps working for the overlap. */
  rotateToken(args: TokenRotationOrder): Promise<NewTokenForOld>
  createSensor(args: SensorOrder): Promise<ListedSensor>
  listSensors(args: OfUser): Promise<readonly ListedSensor[]>
  /** Changes alias, compensation or both, as the owner can over the API. */
  changeSensor(args: SensorChangeOrder): Promise<ListedSensor>
  /** What `deleteSensor` would delete now. */
  previewSensorDeletion(args: OfId): Promise<DeletedSensor>
  /** Deletes the sensor; its measurements leave the store soon after. */
  deleteSensor(args: OfId): Promise<DeletedSensor>
  /** What was set aside: the count, and the first `setAsideListedMax`. */
  listSetAside(args: Nothing): Promise<SetAsideList>
  /** Writes set-aside measurements to the store again; without ids, all of them. */
  retrySetAside(args: SetAsideChoice): Promise<Counted>
  /** How many `dropSetAside` would delete now. */
  previewDrop(args: SetAsideChoice): Promise<Counted>
  /** Deletes set-aside measurements permanently; without ids, all of them. */
  dropSetAside(args: SetAsideChoice): Promise<Counted>
  /** Refused lines and elements, of one user or all; `content` is readable. */
  listRefused(args: RefusedQuestion): Promise<RefusedList>
  /** Series of line protocol without a temperature; `line` is readable. */
  listSkipped(args: SkippedQuestion): Promise<Listing<SkippedEntry>>
  /** Tries to store refused entries again; without ids, all. */
  retryRefused(args: SetAsideChoice): Promise<RetriedCount>
  /** How many `dropRefused` would delete now. */
  previewRefusedDrop(args: SetAsideChoice): Promise<Counted>
  /** Deletes refused entries permanently; without ids, all. */
  dropRefused(args: SetAsideChoice): Promise<Counted>
  /** The clock is right, although it is before the newest receipt, or long after it. */
  acceptClock(args: Nothing): Promise<AcceptedClock>
  importRules(args: OfUser): Promise<ImportRules>
  /**
   * When each of up to `importMeasurementsMax` sensors has measurements: periods of whole UTC days,
   * ascending, at most `measuredPeriodsMax`, which may cover days without any. None for a sensor
   * that the user does not have.
   */
  listMeasuredPeriods(args: SensorsOfUser): Promise<readonly (readonly TimeRange[])[]>
  /**
   * Stores up to `importMeasurementsMax` measurements, in order. Resolves when they are on disk. On
   * an error, some may be stored: sending them again with the same event ids stores nothing twice.
   * Nothing is stored where equal ones have to be counted that cannot be read yet.
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

export interface SkippedQuestion {
  /** An e-mail address; default: all users. */
  readonly user?: string
  /** At most `refusedListedMax`; default: `refusedListedDefault`. */
  readonly limit?: number
}

export interface RefusedQuestion extends SkippedQuestion {
  /** Default: newest first. */
  readonly isOldestFirst?: boolean
}

/** The rest is counted but not listed. */
export interface Listing<Entry> {
  readonly count: number
  readonly entries: readonly Entry[]
}

export interface RefusedList extends Listing<RefusedEntry> {
  /** How many were dropped to make room for newer ones. */
  readonly dropped: number
}

export const refusedListedDefault = 1_000
export const refusedListedMax = 10_000

export interface RetriedCount {
  /** How many are stored. */
  readonly count: number
  readonly refusedAgain: number
}

export interface AcceptedClock {
  readonly nowMs: number
  /** When the newest measurement was received; `null`: there is none. */
  readonly newestReceiptMs: number | null
}

export interface Counted {
  readonly count: number
}

/** The rest is counted but not listed. */
export const setAsideListedMax = 10_000

/** Users are identified by e-mail address. */
export interface OfUser {
  readonly user: string
}

export interface UserRenaming extends OfUser, UserChange {}

export interface OfId {
  readonly id: number
}

export interface ListedUser extends User {
  readonly identities: readonly UserIdentity[]
}

export interface DeletedUser {
  readonly id: number
  /** How many sensors are deleted with the user. */
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

export interface LinkOrder extends OfUser {
  /** Default: 15 minutes. */
  readonly lifetimeMs?: number
}

export interface CreatedLink {
  readonly url: string
  readonly expiresAtMs: number
}

export interface TokenOrder extends OfUser {
  readonly name: string
  /** The prefix of every serial number sent with this token as line protocol. */
  readonly serialNumberPrefix?: string
  /** The token's rights; default: all. */
  readonly scopes?: readonly string[]
  /** How long the token is valid; default: permanently. */
  readonly lifetimeMs?: number
}

export interface CreatedToken {
  readonly id: number
  /** The token's text: shown only once, and stored nowhere. */
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

export interface ListedSensor extends Sensor {
  readonly isOnline: boolean
}

export interface SensorOrder extends OfUser {
  readonly serialNumber: string
  readonly alias?: string
}

/** What an import checks measurements against before anything is stored. */
export interface ImportRules {
  readonly measuredAtMsMin: number
  readonly measuredAtMsMax: number
  /** Whether unknown serial numbers are registered. */
  readonly mayRegisterSensors: boolean
  /** Keys of the user's sensors, see `serialNumberKey`, and their limit. */
  readonly sensorKeys: readonly string[]
  readonly sensorsMax: number
}

export interface SensorsOfUser extends OfUser {
  readonly serialNumbers: readonly string[]
}

export interface ImportOrder extends OfUser {
  readonly measurements: readonly SubmittedMeasurement[]
  /**
   * Of each measurement: a duplicate if more equal ones are stored than this, of the same sensor,
   * time and temperature. `null`: its event id alone decides.
   */
  readonly equalsBefore: readonly (number | null)[]
  /** Whether none may be stored before those that come before it. */
  readonly isInOrder: boolean
}

export interface ImportReceipt {
  readonly created: number
  readonly duplicates: number
  /** Indexes of measurements whose event id was accepted before with different content. */
  readonly conflicts: readonly number[]
  /** Those of the duplicates that were stored in a sensor that has been deleted since. */
  readonly deleted: readonly DeletedMeasurement[]
}

interface DeletedMeasurement {
  readonly index: number
  readonly sensorId: number
}

export interface OperationsSettings extends OnlineSettings {
  readonly mobileTokenIdleMs: number
  /** Where people reach the service. */
  readonly publicUrl: string
  readonly mayRegisterSensors: boolean
  readonly sensorsPerUserMax: number
  readonly measuredAtMsMin: number
  /** See `LineNames`. */
  readonly lineFields: readonly string[]
  readonly lineSerialTags: readonly string[]
}

/** Measurements of one `importMeasurements`. */
export const importMeasurementsMax = 4_000

/** Of one sensor, see `listMeasuredPeriods`. */
export const measuredPeriodsMax = 100

/** Why an operation failed, for people. */
export interface Failure {
  /** `usage`: the request itself is wrong; `failed`: it is valid, but could not be carried out. */
  readonly kind: 'usage' | 'failed'
  readonly message: string
  /** What to do about it. */
  readonly hint?: string
  /** When to retry. */
  readonly retryAfterSeconds?: number
  /** Of an import: the faults of its measurements. */
  readonly faults?: readonly RequestFault[]
}

/** An operation that was not carried out. */
export class OperationError extends Error {
  readonly failure: Failure

  constructor(failure: Failure, options?: ErrorOptions) {
    super(failure.message, options)
    this.name = 'OperationError'
    this.failure = failure
  }
}

/**
 * Creates the error of an operation that could not be carried out.
 *
 * @param hint what to do about it
 */
export function failed(message: string, hint?: string, options?: ErrorOptions): OperationError {
  const failure = { kind: 'failed' as const, message, ...(hint !== undefined && { hint }) }
  return new OperationError(failure, options)
}

/** Creates an error of wrong usage. */
export function usage(message: string, hint?: string): OperationError {
  return new OperationError({ kind: 'usage', message, ...(hint === undefined ? {} : { hint }) })
}

/** @returns the failure to report, `undefined` for an error that is our own bug */
export function failureOf(error: unknown): Failure | undefined {
  if (error instanceof OperationError) return error.failure
  if (!(error instanceof ServiceError) || error.code === 'internal_error') return undefined
  const { code, detail, hint, retryAfterSeconds, faults } = error
  return {
    kind: 'failed',
    message: detail ?? code.replaceAll('_', ' '),
    ...(hint !== undefined && { hint }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    ...(faults !== undefined && { faults }),
  }
}
