// What is kept for the sake of the measurement store: which one is in use, what it has refused, and
// what is to be deleted there.

import type { TimeRange } from '../domain/time.ts'
import type { SensorInfo } from './measurement-store.ts'

/** Which store has the measurements, and of which sensors. */
export interface StoreRecords {
  /** `undefined` before the first start. */
  readStoreName(): Promise<string | undefined>
  /** What the sensors of all users are called now, by id. */
  listSensorInfos(): Promise<readonly SensorInfo[]>
  /** Whose a deleted sensor was, `undefined` when there is none of that id. */
  findOwnerOfDeleted(sensorId: number): Promise<number | undefined>
}

/** Each call is one durable transaction. */
export interface StoreUpkeep {
  /** Names the store in use, unless another one has measurements. @returns the one in use now */
  adoptStore(name: string): Promise<string>
  /**
   * Says that another measurement store is in use from now on, which has all measurements.
   *
   * @returns whether `from` was in use: nothing is changed otherwise
   */
  switchStore(change: StoreSwitch): Promise<boolean>
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
  readonly userId: number
  readonly sensorId: number
  readonly range: TimeRange
  /** How often they were deleted already. */
  readonly passes: number
}

/** A measurement that the store refuses for good, and why. */
export interface RefusedMeasurement {
  readonly userId: number
  readonly sensorId: number
  readonly measuredAtMs: number
  readonly tieBreakNs: number
  readonly tempCelsius: number
  readonly reason: string
}

/** A measurement that the store has refused, kept until an operator settles it. */
export interface SetAsideMeasurement extends RefusedMeasurement {
  readonly id: number
  readonly setAsideAtMs: number
}

/** The deletions of sensors that are to be carried out in the measurement store. */
export interface SensorDeletionJobs {
  /** Those that are due, of sensors whose rows are all forwarded. */
  due(nowMs: number): Promise<readonly SensorDeletion[]>
  /**
   * Measurements were deleted once more. A crash may undo it: then they are once more.
   *
   * @param dueAtMs when again; `undefined`: never
   */
  notePass(deletion: SensorDeletion, dueAtMs: number | undefined): Promise<void>
}
