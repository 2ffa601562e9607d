// What the control data say that a measurement store has to have of a sensor.

import type { RawPoint } from './history.ts'

/** Measurements by UTC day, named by its start; days without any may be left out. */
export type DayCounts = ReadonlyMap<number, number>

/** Measurements of a sensor that were accepted and are not certainly in the store. */
export interface Outstanding {
  readonly perDay: DayCounts
  /** The one accepted last of those with the greatest time. */
  readonly newest: RawPoint | undefined
}

export interface SensorAccount {
  readonly sensorId: number
  readonly accepted: DayCounts
  readonly latest: RawPoint | undefined
  /** In the journal, and not known to be forwarded. */
  readonly pending: Outstanding
  readonly setAside: Outstanding
}
