// What an import tells the service, and what it gets: plain JSON, which crosses the socket.

import type { SubmittedMeasurement } from '../domain/measurement.ts'

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

export interface SensorsOfUser {
  /** An e-mail address. */
  readonly user: string
  readonly serialNumbers: readonly string[]
}

export interface ImportOrder {
  /** An e-mail address. */
  readonly user: string
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

/** Measurements of one `importMeasurements`. */
export const importMeasurementsMax = 4_000

/** Of one sensor, see `listMeasuredPeriods`. */
export const measuredPeriodsMax = 100
