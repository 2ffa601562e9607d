// What a measurement store must have of a sensor, according to the control data.

import type { RawPoint } from './history.ts'
import { DAY_MS, floorToWindow } from './time.ts'

/** Measurements by UTC day, identified by its start; days without any may be omitted. */
export type DayCounts = ReadonlyMap<number, number>

/** The latest value of a sensor, as the control data have it. */
export interface AccountedLatest extends RawPoint {
  /** The greatest latest time that gave way because it was ahead of now; 0: none ever did. */
  readonly gaveWayAtMs: number
}

/** No measurement that was accepted is later. */
export function newestAtMs({ measuredAtMs, gaveWayAtMs }: AccountedLatest): number {
  return Math.max(measuredAtMs, gaveWayAtMs)
}

/** What some measurements of a sensor say of its latest value. */
export interface LatestEvidence {
  /** The one of its time; of several, the one accepted last. */
  readonly atLatest: RawPoint | undefined
  /** One later than any that was accepted. */
  readonly later: RawPoint | undefined
}

/** Measurements of a sensor that were accepted and are not certainly in the store. */
export interface Outstanding extends LatestEvidence {
  readonly perDay: DayCounts
}

export interface SensorAccount {
  readonly sensorId: number
  readonly accepted: DayCounts
  readonly latest: AccountedLatest | undefined
  /** In the journal, and not known to be forwarded. */
  readonly pending: Outstanding
  readonly setAside: Outstanding
}

class OutstandingTally implements Outstanding {
  readonly perDay = new Map<number, number>()
  readonly #latest: AccountedLatest | undefined
  atLatest: RawPoint | undefined
  later: RawPoint | undefined

  constructor(latest: AccountedLatest | undefined) {
    this.#latest = latest
  }

  /** In order of acceptance, at least among measurements of the same time. */
  add(measuredAtMs: number, rawCelsius: number): void {
    const dayMs = floorToWindow(measuredAtMs, DAY_MS)
    this.perDay.set(dayMs, (this.perDay.get(dayMs) ?? 0) + 1)
    if (this.#latest === undefined) return
    if (measuredAtMs === this.#latest.measuredAtMs) this.atLatest = { measuredAtMs, rawCelsius }
    if (measuredAtMs > newestAtMs(this.#latest)) this.later = { measuredAtMs, rawCelsius }
  }
}

/** The account of a sensor, as the control data are read. */
export class AccountTally implements SensorAccount {
  readonly sensorId: number
  readonly accepted = new Map<number, number>()
  readonly latest: AccountedLatest | undefined
  readonly pending: OutstandingTally
  readonly setAside: OutstandingTally

  constructor(sensorId: number, latest: AccountedLatest | undefined) {
    this.sensorId = sensorId
    this.latest = latest
    this.pending = new OutstandingTally(latest)
    this.setAside = new OutstandingTally(latest)
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
