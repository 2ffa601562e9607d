// Everything the core needs from the world. Each interface says what its adapters promise: order,
// idempotence, the moment from which data are durable, units and errors. Types only.

import type {
  AccessToken,
  AuthorizationGrant,
  Principal,
  Right,
  RotatedToken,
  TokenKind,
  TokenRotation,
  User,
  UserIdentity,
  VerifiedIdentity,
} from './domain/access.ts'
import type { ErrorCode } from './domain/errors.ts'
import type { RawPoint, SeriesRange, WindowSummary } from './domain/history.ts'
import type { Sensor, SensorChange, SensorId, UserId } from './domain/sensor.ts'
import type { DurationMs, EpochMs, TimeRange } from './domain/time.ts'
import type { RefusedMeasurement } from './ports/journal.ts'

export interface Clock {
  /** Wall time: may jump. For dates. */
  nowMs(): EpochMs
  /** Never goes back; its zero means nothing. For durations. */
  monotonicMs(): DurationMs
}

/** One structured line an event; values are plain and free of secrets. */
export interface Log {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  /** Degraded, said once a change of state. */
  warn(message: string, fields?: LogFields): void
  /** A person is needed. */
  error(message: string, fields?: LogFields): void
}

export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>

/** The volume of DATA_DIR. */
export interface StorageState {
  /** Whether it has so little room left that nothing may be accepted. */
  readonly isLow: boolean
  /** What it has and what it needs, for everyone; where it is, for operators. */
  describe(): { readonly detail: string; readonly hint: string }
}

/** What happens, counted for an operator's monitoring. Nothing of it fails, waits or blocks. */
export interface Metrics {
  /** A group of submissions was decided, and what is new is on disk. */
  noteGroup(group: CommittedGroup): void
  /** A batch has reached the measurement store. */
  noteForwarded(count: ForwardedCount): void
  /**
   * A request was answered.
   *
   * @param route method and pattern of its address, out of a bounded set: `GET /healthz`
   */
  noteAnswer(route: string, status: number): void
  /** A submission was answered with a problem. */
  noteRefusedSubmission(code: ErrorCode): void
}

/** What became of the measurements of a group. */
export interface CommittedGroup {
  readonly created: number
  readonly duplicate: number
  readonly conflict: number
  /** From handing it over to its being on disk. */
  readonly durationMs: DurationMs
}

export interface ForwardedCount {
  readonly accepted: number
  /** Refused by the store for good. */
  readonly rejected: number
}

/** Who reads the measurement store waits here for what was acknowledged and is on its way there. */
export interface ReadBarrier {
  /** Waits up to `waitMsMax` until every row up to `seq` can be read. @returns whether it can */
  waitUntilReadable(seq: number, waitMsMax: DurationMs): Promise<boolean>

  /**
   * Whether acknowledged measurements of the sensor in the range are not readable in the store:
   * still on their way, or set aside because the store refused them.
   *
   * @param sensor as the control data show it: its `dataSeq` says what has been acknowledged
   */
  hasUnreadable(sensor: Pick<Sensor, 'id' | 'dataSeq'>, range: TimeRange): Promise<boolean>
}

export interface Backlog {
  readonly entries: number
  readonly bytes: number
  readonly oldestAgeMs: DurationMs
}

/** What a measurement store is given at once, in journal order. */
export interface StoreBatch {
  readonly measurements: MeasurementColumns
  /** What sensors are called and how they are compensated, from `atMs` on. */
  readonly sensorInfos: readonly SensorInfo[]
}

/** Journal rows on their way to the measurement store. */
export interface JournalBatch extends StoreBatch {
  /** The last of the rows. */
  readonly throughSeq: number
}

/** A registration or a change of a sensor, for those who read the store directly. */
export interface SensorInfo {
  readonly userId: UserId
  readonly sensorId: SensorId
  /** Later than the one before it. */
  readonly atMs: EpochMs
  readonly serialNumber: string
  readonly alias: string
  readonly compensationCelsius: number
}

/** Measurements as columns; index i of each belongs to one measurement. In acceptance order. */
export interface MeasurementColumns {
  readonly count: number
  readonly userId: Uint32Array
  readonly sensorId: Uint32Array
  readonly measuredAtMs: Float64Array
  /** 0 … 999,999: keeps measurements of one sensor at one millisecond apart; never given twice. */
  readonly tieBreakNs: Uint32Array
  readonly tempCelsius: Float64Array
}

/** A measurement that the store will never take. */
export interface RejectedMeasurement {
  /** Its place in the batch. */
  readonly index: number
  /** What the store said. */
  readonly reason: string
}

/** A measurement that the store has refused, kept until an operator settles it. */
export interface SetAsideMeasurement extends RefusedMeasurement {
  readonly id: number
  readonly setAsideAtMs: EpochMs
}

/** The writing side of the long-term home of measurements. */
export interface MeasurementWriter {
  /**
   * Writes a batch; one at a time. Resolves when it can be read but for what it returns; the next
   * `sync` makes it durable. Writing the same measurement again, in any batch, changes nothing:
   * sensor, millisecond and tie-break identify it.
   *
   * @returns what the store refuses for good
   * @throws StoreUnavailable when it is not known whether all was written, or nothing can be
   *   written now: the caller writes the same batch again later
   */
  write(batch: StoreBatch): Promise<readonly RejectedMeasurement[]>

  /** Makes durable what was written before. Once it has thrown, nobody knows what is. */
  sync(): Promise<void>

  /**
   * Deletes all measurements of a sensor whose times lie in the range, and its infos. Resolves when
   * they are certainly gone. May be repeated, and may run beside `write`.
   */
  deleteSensor(sensor: { userId: UserId; sensorId: SensorId }, range: TimeRange): Promise<void>

  /**
   * A text that is another one after the store's process has started anew, when it may have lost
   * what it had acknowledged shortly before. `undefined` when that cannot be known now.
   */
  life(): Promise<string | undefined>

  close(): Promise<void>
}

/** The reading side. A series is read in ascending order, in chunks, in bounded memory. */
export interface MeasurementReader {
  /** Every measurement of the range, by time and then by tie-break. */
  readRaw(range: SeriesRange): AsyncIterable<readonly RawPoint[]>

  /**
   * One summary for each window of `windowMs` on the UTC epoch grid that has measurements.
   *
   * @param range its ends lie on the grid
   * @param windowMs one minute, 5 or 15 minutes, one hour or one day
   * @throws ServiceError `history_unavailable` when the store is out of reach
   */
  readWindows(range: SeriesRange, windowMs: DurationMs): AsyncIterable<readonly WindowSummary[]>

  close(): Promise<void>
}

/** Reading users, tokens and sensors. What was acknowledged before a call is seen by it. */
export interface ControlReader {
  findPrincipal(tokenHash: Buffer): Promise<Principal | undefined>
  findUser(email: string): Promise<User | undefined>
  listUsers(): Promise<readonly User[]>
  listTokens(userId: UserId): Promise<readonly AccessToken[]>
  /** Of all users. */
  listIdentities(): Promise<readonly UserIdentity[]>
  /** By id; never those of another user, never deleted ones. */
  listSensors(userId: UserId): Promise<readonly Sensor[]>
  findSensor(userId: UserId, sensorId: SensorId): Promise<Sensor | undefined>
  /** For operators; never a deleted one. */
  findSensorOfAnyone(sensorId: SensorId): Promise<Sensor | undefined>
  /** How many measurements of a sensor were accepted; none of a deleted one. */
  countMeasurements(sensorId: SensorId): Promise<number>
  /**
   * The sensors of a user with the version of all that is shown of them, read at one moment.
   *
   * @param onlineSinceMs what was heard from and measured since then is online
   * @param isKnown whether a version is known to the caller: then the sensors are not read
   */
  readSensors(
    userId: UserId,
    onlineSinceMs: EpochMs,
    isKnown: (version: string) => boolean,
  ): Promise<VersionedSensors>
  /**
   * What has changed of a user's sensors since an earlier look, read at one moment.
   *
   * @param since the mark of that look; `undefined`: there was none, so all of them are read
   */
  readSensorNews(userId: UserId, since: SensorMark | undefined): Promise<SensorNews>
  /** Deleted sensors whose measurements are not yet gone from the store. */
  countSensorDeletions(): Promise<number>
  countSetAside(): Promise<number>
  /** In the order in which they were set aside, those after `afterId`. */
  listSetAside(afterId: number, limit: number): Promise<readonly SetAsideMeasurement[]>
}

export interface VersionedSensors {
  /** Another one whenever something that is shown has changed. */
  readonly version: string
  /** By id; `undefined` when the version is known. */
  readonly sensors: readonly Sensor[] | undefined
}

/** Up to where a user's sensors have been looked at. */
export interface SensorMark {
  /** Another one whenever a sensor was added, changed by its owner or deleted. */
  readonly settings: string
  /** The greatest journal row of their measurements. */
  readonly dataSeq: number
}

export interface SensorNews {
  readonly mark: SensorMark
  /** Whether `sensors` are all there are; else those with new measurements. */
  readonly isWhole: boolean
  /** By id. */
  readonly sensors: readonly Sensor[]
}

/** Changing users, tokens and sensors. Each call is one durable transaction. */
export interface ControlWriter {
  /** @returns the user, or `undefined` when the address is taken */
  createUser(email: string, name: string): Promise<User | undefined>
  /**
   * Their sensors are deleted, their tokens and identities end, and what is known of the person is
   * wiped. The events they sent stay known, their id is never given again.
   *
   * @returns how many sensors they had, `undefined` when there is no such user
   */
  deleteUser(userId: UserId): Promise<number | undefined>
  createToken(token: NewAccessToken): Promise<AccessToken>
  /**
   * A person signs in: finds the user of the identity, or the one with the verified e-mail address
   * who has no identity at this issuer yet, or makes one; and makes a mobile token of that user.
   *
   * @returns `undefined` when none of this is possible: nothing has changed then
   */
  signIn(order: SignInOrder): Promise<SignedInUser | undefined>
  /** Ends an identity and the user's mobile tokens. @returns whether the user had one there */
  unlinkIdentity(userId: UserId, issuer: string): Promise<boolean>
  /** @returns whether a live token had that id */
  revokeToken(tokenId: number): Promise<boolean>
  /** Makes a token like a live one of a daemon, which then ends. @returns `undefined`: none such */
  rotateToken(tokenId: number, order: TokenRotation): Promise<RotatedToken | undefined>
  /** Last uses by token id; called now and then, not for each use. */
  recordTokenUses(lastUsedAtMs: ReadonlyMap<number, EpochMs>): Promise<void>
  /** @returns the sensor, or why not */
  createSensor(
    userId: UserId,
    serialNumber: string,
    alias: string | undefined,
  ): Promise<Sensor | 'taken' | 'quota'>
  /** @returns the sensor after the change, `undefined` when the user has none of that id */
  changeSensor(
    userId: UserId,
    sensorId: SensorId,
    change: SensorChange,
  ): Promise<Sensor | undefined>
  /** Its measurements are deleted from the store afterwards. @returns whether the user had it */
  deleteSensor(userId: UserId, sensorId: SensorId): Promise<boolean>
  /** Its measurements were deleted once more. @param dueAtMs when again; `undefined`: never */
  noteDeletionPass(sensorId: SensorId, dueAtMs: EpochMs | undefined): Promise<void>
  /** Names the store in use, unless another one has measurements. @returns the one in use now */
  adoptStore(name: string): Promise<string>
  /**
   * Says that another measurement store is in use from now on, which has all measurements.
   *
   * @returns whether `from` was in use: nothing is changed otherwise
   */
  switchStore(change: StoreSwitch): Promise<boolean>
  /** Keeps what the store refuses; the same again changes nothing. */
  setAside(measurements: readonly RefusedMeasurement[]): Promise<void>
  /** Has set-aside measurements forwarded once more, all of them without ids. @returns how many */
  retrySetAside(ids: readonly number[] | undefined): Promise<number>
  /** Gives set-aside measurements up for good, all of them without ids. @returns how many */
  dropSetAside(ids: readonly number[] | undefined): Promise<number>
}

export interface StoreSwitch {
  readonly from: string
  readonly to: string
  /** Deleted sensors of which `to` has something: it is deleted there afterwards. */
  readonly leftovers: readonly Omit<SensorDeletion, 'passes'>[]
}

/** A deleted sensor whose measurements are still in the store, or might come back. */
export interface SensorDeletion {
  readonly userId: UserId
  readonly sensorId: SensorId
  readonly range: TimeRange
  /** How often they were deleted already. */
  readonly passes: number
}

export interface NewAccessToken {
  readonly userId: UserId
  readonly kind: TokenKind
  readonly name: string
  readonly rights: readonly Right[]
  /** SHA-256 of the token's text. */
  readonly hash: Buffer
  readonly expiresAtMs: EpochMs | null
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
