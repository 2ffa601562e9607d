// Reading users, access tokens and sensors.

import type { AccessToken, Principal, User, UserIdentity } from '../domain/access.ts'
import type { Sensor } from '../domain/sensor.ts'
import type { TimeRange } from '../domain/time.ts'
import type { RefusedReader } from './refused.ts'
import type { SetAsideMeasurement } from './store-upkeep.ts'

/** Which data these are, so that senders notice when they were restored. */
export interface DataIdentity {
  /** Random; made with the data, and anew by each restore. */
  readonly id: string
  /** All that was acknowledged before is there; `null`: they were never restored. */
  readonly restoredToMs: number | null
}

/** Reading users, tokens and sensors. What was acknowledged before a call is seen by it. */
export interface ControlReader extends RefusedReader {
  readDataIdentity(): Promise<DataIdentity>
  findPrincipal(tokenHash: Buffer): Promise<Principal | undefined>
  findUser(email: string): Promise<User | undefined>
  listUsers(): Promise<readonly User[]>
  listTokens(userId: number): Promise<readonly AccessToken[]>
  /** Of all users. */
  listIdentities(): Promise<readonly UserIdentity[]>
  /** By id; never those of another user, never deleted ones. */
  listSensors(userId: number): Promise<readonly Sensor[]>
  findSensor(userId: number, sensorId: number): Promise<Sensor | undefined>
  /** For operators; never a deleted one. */
  findSensorOfAnyone(sensorId: number): Promise<Sensor | undefined>
  /** How many measurements of a sensor were accepted; none of a deleted one. */
  countMeasurements(sensorId: number): Promise<number>
  /**
   * The sensors of a user with the version of all that is shown of them, read at one moment.
   *
   * @param onlineSinceMs what was heard from and measured since then is online
   * @param isKnown whether a version is known to the caller: then the sensors are not read
   */
  readSensors(
    userId: number,
    onlineSinceMs: number,
    isKnown: (version: string) => boolean,
  ): Promise<VersionedSensors>
  /**
   * What has changed of a user's sensors since an earlier look, read at one moment.
   *
   * @param since the cursor of that look; `undefined`: there was none, so all of them are read
   */
  readSensorNews(userId: number, since: SensorCursor | undefined): Promise<SensorNews>
  /** The UTC days that a range touches, in ascending order, and what was accepted on them. */
  listAcceptedDays(sensorId: number, range: TimeRange): Promise<readonly AcceptedDay[]>
  /** Deleted sensors whose measurements are not yet gone from the store. */
  countSensorDeletions(): Promise<number>
  countSetAside(): Promise<number>
  /** Whether the store has refused measurements of the sensor in the range. */
  hasSetAside(sensorId: number, range: TimeRange): Promise<boolean>
  /** In the order in which they were set aside, those after `afterId`. */
  listSetAside(afterId: number, limit: number): Promise<readonly SetAsideMeasurement[]>
}

export interface VersionedSensors {
  /** Another one whenever something that is shown has changed. */
  readonly version: string
  /** By id; `undefined` when the version is known. */
  readonly sensors: readonly Sensor[] | undefined
}

/** Up to where a user's sensors have been looked at; only who gave it reads it. */
export type SensorCursor = string

export interface SensorNews {
  readonly cursor: SensorCursor
  /** Whether `sensors` are all there are; else those with new measurements. */
  readonly isWhole: boolean
  /** By id. */
  readonly sensors: readonly Sensor[]
}

/** A UTC day that has measurements. */
export interface AcceptedDay {
  /** Its start. */
  readonly dayMs: number
  readonly measurements: number
}
