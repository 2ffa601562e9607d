// Upkeep of the measurement store: which one is in use, what was set aside because it would not
// take it, and what is to be deleted from it.

import type { TimeRange } from '../domain/time.ts'
import type { SensorInfo } from './measurement-store.ts'

/** Which store has the measurements of a DATA_DIR, and of which sensors. */
export interface StoreRecords {
  /** `undefined` before the first start. */
  readStoreName(): Promise<string | undefined>
  /** The current names of all users' sensors, by id. */
  listSensorInfos(): Promise<readonly SensorInfo[]>
  /** The user of a deleted sensor, `undefined` if there is none with that id. */
  findOwnerOfDeleted(sensorId: number): Promise<number | undefined>
}

/** Which store has them from now on. Each call is one durable transaction. */
export interface StoreChoice {
  /** Records the store in use, unless another one has measurements. @returns the one in use now */
  adoptStore(name: string): Promise<string>
  /**
   * Records that another measurement store, which has all measurements, is in use from now on.
   *
   * @returns whether `from` was in use; otherwise nothing changes
   */
  switchStore(change: StoreSwitch): Promise<boolean>
}

/** Each call is one durable transaction. */
export interface StoreUpkeep {
  /** Forwards set-aside measurements once more: those with these ids, or all. @returns how many */
  retrySetAside(ids: readonly number[] | undefined): Promise<number>
  /** Discards set-aside measurements: those with these ids, or all. @returns how many */
  dropSetAside(ids: readonly number[] | undefined): Promise<number>
}

export interface StoreSwitch {
  readonly from: string
  readonly to: string
  /** Deleted sensors with data in `to`: they are deleted there afterwards. */
  readonly leftovers: readonly Omit<SensorDeletion, 'passes'>[]
}

/** A deleted sensor whose measurements are still in the store, or might come back. */
export interface SensorDeletion {
  readonly userId: number
  readonly sensorId: number
  readonly range: TimeRange
  /** How often they have been deleted so far. */
  readonly passes: number
}

/** A measurement that the store will never take, and why. */
export interface MeasurementToSetAside {
  readonly userId: number
  readonly sensorId: number
  readonly measuredAtMs: number
  readonly tieBreakNs: number
  readonly tempCelsius: number
  readonly reason: string
}

/** Kept until an operator settles it. */
export interface SetAsideMeasurement extends MeasurementToSetAside {
  readonly id: number
  readonly setAsideAtMs: number
}

/** Deletions of sensors to be carried out in the measurement store. */
export interface SensorDeletionJobs {
  /** Those that are due, of sensors whose rows are all forwarded. */
  due(nowMs: number): Promise<readonly SensorDeletion[]>
  /**
   * Measurements were deleted once more. A crash may undo this record: then they are deleted again.
   *
   * @param dueAtMs when to delete next; `undefined`: never
   */
  notePass(deletion: SensorDeletion, dueAtMs: number | undefined): Promise<void>
}
