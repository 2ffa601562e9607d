// What a measurement store must have of a sensor, according to the control data.

import type { RawPoint } from './history.ts'
import { DAY_MS, floorToWindow } from './time.ts'

/** Measurements by UTC day, identified by its start; days without any may be omitted. */
export type DayCounts = ReadonlyMap<number, number>

/** Measurements of a sensor that were accepted and are not certainly in the store. */
export interface Outstanding {
  readonly perDay: DayCounts
  /** The newest; of several at the same time, the one accepted last. */
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

class OutstandingTally implements Outstanding {
  readonly perDay = new Map<number, number>()
  newest: RawPoint | undefined

  /** In order of acceptance, at least among measurements of the same time. */
  add(measuredAtMs: number, rawCelsius: number): void {
    const dayMs = floorToWindow(measuredAtMs, DAY_MS)
    this.perDay.set(dayMs, (this.perDay.get(dayMs) ?? 0) + 1)
    if (this.newest !== undefined && measuredAtMs < this.newest.measuredAtMs) return
    this.newest = { measuredAtMs, rawCelsius }
  }
}

/** The account of a sensor, as the control data are read. */
export class AccountTally implements SensorAccount {
  readonly sensorId: number
  readonly accepted = new Map<number, number>()
  latest: RawPoint | undefined
  readonly pending = new OutstandingTally()
  readonly setAside = new OutstandingTally()

  constructor(sensorId: number) {
    this.sensorId = sensorId
  }
}

/** Rows that are not forwarded, in order of acceptance; other sensors may be among them. */
export function addPending(
  accounts: ReadonlyMap<number, AccountTally>,
  rows: {
    readonly count: number
    readonly sensorId: ArrayLike<number>
    readonly measuredAtMs: ArrayLike<number>
    readonly tempCelsius: ArrayLike<number>
  },
): void {
  for (let at = 0; at < rows.count; at++) {
    const account = accounts.get(rows.sensorId[at] ?? 0)
    account?.pending.add(rows.measuredAtMs[at] ?? 0, rows.tempCelsius[at] ?? 0)
  }
}
