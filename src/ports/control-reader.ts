// Reading users, access tokens and sensors.

import type { AccessToken, Principal, User, UserIdentity } from '../domain/access.ts'
import type { OnlineTimes, Sensor } from '../domain/sensor.ts'
import type { TimeRange } from '../domain/time.ts'
import type { RefusedReader } from './refused.ts'
import type { SensorChangesReader } from './sensor-changes.ts'
import type { SignInLinkReader } from './sign-in-links.ts'
import type { SetAsideMeasurement } from './store-upkeep.ts'

/** Identifies the data, so that senders notice a restore. */
export interface DataIdentity {
  /** Random; created with the data, and again by each restore. */
  readonly id: string
  /** Everything acknowledged before this is there; `null`: the data were never restored. */
  readonly restoredToMs: number | null
}

/** Reading users, tokens and sensors. A call sees everything acknowledged before it. */
export interface ControlReader extends RefusedReader, SensorChangesReader, SignInLinkReader {
  readDataIdentity(): Promise<DataIdentity>
  /**
   * The secret that authenticates the cursors of clients: 32 bytes, made with the data, the same in
   * every process that has them.
   */
  readCursorSecret(): Promise<Uint8Array>
  findPrincipal(tokenHash: Buffer): Promise<Principal | undefined>
  findUser(email: string): Promise<User | undefined>
  hasUsers(): Promise<boolean>
  listUsers(): Promise<readonly User[]>
  listTokens(userId: number): Promise<readonly AccessToken[]>
  /** The user's mobile tokens that are not revoked, newest first; some may have expired. */
  listSessions(userId: number): Promise<readonly AccessToken[]>
  /** Of all users. */
  listIdentities(): Promise<readonly UserIdentity[]>
  /** By id; never those of another user, never deleted ones. */
  listSensors(userId: number): Promise<readonly Sensor[]>
  findSensor(userId: number, sensorId: number): Promise<Sensor | undefined>
  /** Those of the user's sensors that have these serial numbers, in any order. */
  findSensors(userId: number, serialNumbers: readonly string[]): Promise<readonly Sensor[]>
  /** For operators; never a deleted one. */
  findSensorOfAnyone(sensorId: number): Promise<Sensor | undefined>
  /** How many measurements of these sensors were accepted; 0 for a deleted sensor. */
  countMeasurements(sensorIds: readonly number[]): Promise<number>
  /**
   * The version of everything shown of a user's sensors. It differs after every change and never
   * comes again, so sensors that are read after it may be newer, but are not taken for it later.
   */
  readSensorsVersion(userId: number, online: OnlineTimes): Promise<string>
  /** The UTC days that a range touches, in ascending order, with the number accepted on each. */
  listAcceptedDays(sensorId: number, range: TimeRange): Promise<readonly AcceptedDay[]>
  /** Deleted sensors whose measurements are not yet gone from the store. */
  countSensorDeletions(): Promise<number>
  countSetAside(): Promise<number>
  /** Whether measurements of the sensor in the range were set aside. */
  hasSetAside(sensorId: number, range: TimeRange): Promise<boolean>
  /** In the order in which they were set aside, after `afterId`. */
  listSetAside(afterId: number, limit: number): Promise<readonly SetAsideMeasurement[]>
}

/** A UTC day that has measurements. */
export interface AcceptedDay {
  /** The start of the day. */
  readonly dayMs: number
  readonly measurements: number
}
