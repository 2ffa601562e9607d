// The limits of one statement, and of all in a request; each error suggests what would fit.

import { grouped } from '../domain/grouped.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../domain/time.ts'
import type { TimeRange } from '../domain/time.ts'
import { StatementError } from './scanner.ts'

const statementBytesMax = 64 * 1024
/** A panel has at most a few. */
export const statementsMax = 26
/** Of a name that a statement gives to a column. */
export const nameCharactersMax = 128
export const columnsMax = 32
/** Of all statements together, but for those of one. */
const sensorsMax = 50_000
export const movingWindowsMax = 1_000
const windowsMax = 50_000
const seriesMax = 10_000
const seriesWindowsMax = 1_000_000
const measuredPeriodMsMax = 7 * DAY_MS

/** Work of conditions: less than half a second. */
const workMax = 20_000_000

/** Work of one of several conditions on one sensor, besides that of its regular expression. */
export const CONDITION_WORK = 10

/** What all statements of a request take together. */
const SHARED = {
  values: {
    of: 'values',
    most: 1_000_000,
    remedy: 'fewer sensors, longer windows or a shorter range',
  },
  windows: {
    of: 'windows of all sensors to read',
    most: 10_000_000,
    remedy: 'fewer sensors or a shorter range',
  },
  measurements: {
    of: 'measurements to read',
    most: 10_000_000,
    remedy: 'fewer sensors, windows of 1m or a shorter range',
  },
} as const

/** Suggested windows, finest first. */
const SUGGESTED: readonly (readonly [name: string, ms: number])[] = [
  ['10s', 10 * SECOND_MS],
  ['1m', MINUTE_MS],
  ['5m', 5 * MINUTE_MS],
  ['15m', 15 * MINUTE_MS],
  ['1h', HOUR_MS],
  ['6h', 6 * HOUR_MS],
  ['1d', DAY_MS],
  ['1w', 7 * DAY_MS],
]

/** @throws StatementError if a statement is too long to be read */
export function limitStatement(text: string): void {
  if (Buffer.byteLength(text) <= statementBytesMax) return
  throw new StatementError(`a statement has at most ${statementBytesMax} bytes`)
}

/** @throws StatementError if a series has too many windows */
export function limitWindows(windows: number, { startMs, stopMs }: TimeRange): void {
  if (windows <= windowsMax) return
  const fits = SUGGESTED.find(([, ms]) => (stopMs - startMs) / ms + 2 <= windowsMax)
  const remedy = fits === undefined ? 'a shorter range' : `time(${fits[0]}) or a shorter range`
  throw tooMany(windows, 'windows a series', windowsMax, remedy)
}

/**
 * @param windows in each series
 * @throws StatementError if there are too many series
 */
export function limitSeries(series: number, windows: number): void {
  const most = Math.min(seriesMax, Math.floor(seriesWindowsMax / Math.max(1, windows)))
  if (series <= most) return
  const what = windows > 1 ? `series of ${grouped(windows)} windows` : 'series'
  throw tooMany(series, what, most, 'fewer sensors, or SLIMIT, or longer windows')
}

/**
 * @param what is computed from single measurements
 * @throws StatementError if their period is too long
 */
export function limitMeasuredPeriod({ startMs, stopMs }: TimeRange, what: string): void {
  // A range that includes both ends is a millisecond longer.
  if (stopMs - startMs <= measuredPeriodMsMax + 1) return
  const remedy = 'mean, min, max, count and sum by time(1m) or more have no such limit'
  throw new StatementError(`${what} cover at most 7 days; ${remedy}`)
}

/** What the statements of a request have taken so far. */
export class Work {
  #conditions = 0
  #sensors = 0
  readonly #taken = { values: 0, windows: 0, measurements: 0 }

  /** Done by conditions; reading one character is 1. */
  get done(): number {
    return this.#conditions
  }

  /** @throws StatementError when conditions take too long */
  add(work: number): void {
    this.#conditions += work
    if (this.#conditions <= workMax) return
    const remedy = 'fewer or shorter ones, or one with plain texts, =~ /^(a|b|c)$/, would fit'
    throw new StatementError(`the conditions are too slow for so many sensors: ${remedy}`)
  }

  /** @throws StatementError if too many sensors are held against too many statements */
  addSensors(sensors: number): void {
    const isFirst = this.#sensors === 0
    this.#sensors += sensors
    if (isFirst || this.#sensors <= sensorsMax) return
    const remedy = 'fewer statements at a time'
    throw tooMany(this.#sensors, 'sensors for all statements', sensorsMax, remedy)
  }

  /** @throws StatementError if a response has too much, or too much would be read for it */
  take(what: keyof typeof SHARED, count: number): void {
    this.#taken[what] += count
    const { of, most, remedy } = SHARED[what]
    if (this.#taken[what] > most) throw tooMany(this.#taken[what], of, most, remedy)
  }
}

function tooMany(count: number, of: string, most: number, remedy: string): StatementError {
  const [counted, limit] = [count, most].map(grouped)
  return new StatementError(`${counted} ${of}, at most ${limit}: ${remedy} would fit`)
}
