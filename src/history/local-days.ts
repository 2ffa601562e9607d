// Calendar days of an IANA time zone as stretches of UTC time.
//
// A day begins at the first instant whose local date is that day or a later one, and ends where
// the next one begins. So days never overlap and leave nothing out: one whose midnight does not
// exist begins after the gap, one whose midnight comes twice at the first of them, and one that the
// zone skipped (Pacific/Apia, 2011-12-30) is no day.

import { Temporal } from 'temporal-polyfill'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../domain/time.ts'
import type { TimeRange } from '../domain/time.ts'

const EPOCH = new Temporal.PlainDate(1970, 1, 1)

/** Windows from which days are folded, coarsest first. */
const FOLDED_WINDOWS_MS: readonly number[] = [HOUR_MS, 15 * MINUTE_MS, MINUTE_MS]

/** Whether `name` is a time zone of the IANA database; a bare offset is not. */
export function isTimeZone(name: string): boolean {
  try {
    return /^[A-Za-z]/.test(name) && EPOCH.toZonedDateTime(name) !== undefined
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}

/** Consecutive days that are folded from the same windows. */
export interface DayStretch extends TimeRange {
  /** Length of the windows on the UTC epoch grid, or `undefined`: only measurements do. */
  readonly windowMs: number | undefined
  /** Where its days begin, ascending. */
  readonly daysMs: readonly number[]
}

interface Day extends TimeRange {
  /** Days from 1970-01-01 to its date. */
  readonly number: number
}

/** The days of one zone. Cheapest when asked in ascending order. */
export class LocalDays {
  readonly #timeZone: string
  /** The day of the last call. */
  #day: Day | undefined

  /** @throws RangeError when there is no such zone */
  constructor(timeZone: string) {
    this.#timeZone = EPOCH.toZonedDateTime(timeZone).timeZoneId
  }

  /** Start of the day that holds `atMs`. */
  startOf(atMs: number): number {
    return this.#dayOf(atMs).startMs
  }

  /** Start of the day after the one that holds `atMs`. */
  stopOf(atMs: number): number {
    return this.#dayOf(atMs).stopMs
  }

  /** How many dates the range touches, counting skipped ones between them. */
  countOf(range: TimeRange): number {
    return this.#dayOf(range.stopMs - 1).number - this.#dayOf(range.startMs).number + 1
  }

  /**
   * The days of a range, grouped by the windows they are folded from. The windows depend only on
   * the day, so that its value is the same in every range.
   *
   * @param range its ends are edges of days
   * @param daysMax days of one stretch at most
   */
  *stretches(range: TimeRange, daysMax: number): Iterable<DayStretch> {
    let { startMs } = range
    let stopMs = startMs
    let windowMs: number | undefined
    let daysMs: number[] = []
    while (stopMs < range.stopMs) {
      const day = this.#dayOf(stopMs)
      const dayWindowMs = windowOf(day)
      if (daysMs.length > 0 && (dayWindowMs !== windowMs || daysMs.length === daysMax)) {
        yield { startMs, stopMs, windowMs, daysMs }
        startMs = stopMs
        daysMs = []
      }
      windowMs = dayWindowMs
      stopMs = day.stopMs
      daysMs.push(day.startMs)
    }
    if (daysMs.length > 0) yield { startMs, stopMs, windowMs, daysMs }
  }

  #dayOf(atMs: number): Day {
    const day = this.#day
    if (day !== undefined && atMs >= day.startMs && atMs < day.stopMs) return day
    this.#day = this.#findDay(atMs, day?.stopMs === atMs ? day : undefined)
    return this.#day
  }

  #findDay(atMs: number, dayBefore: Day | undefined): Day {
    let number = dayBefore === undefined ? this.#localDate(atMs) : dayBefore.number + 1
    let startMs = dayBefore === undefined ? this.#edge(number) : atMs
    let stopMs = this.#edge(number + 1)
    // A later date has begun: the clock was put back over midnight, or this date is skipped.
    while (stopMs <= atMs) {
      number += 1
      startMs = stopMs
      stopMs = this.#edge(number + 1)
    }
    return { number, startMs, stopMs }
  }

  #localDate(atMs: number): number {
    const { offsetNanoseconds } = Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(
      this.#timeZone,
    )
    return Math.floor((atMs + offsetNanoseconds / 1_000_000) / DAY_MS)
  }

  /** The first instant of a date, or of the next date that exists. */
  #edge(number: number): number {
    return EPOCH.add({ days: number }).toZonedDateTime(this.#timeZone).epochMilliseconds
  }
}

function windowOf(day: TimeRange): number | undefined {
  return FOLDED_WINDOWS_MS.find(
    (windowMs) => day.startMs % windowMs === 0 && day.stopMs % windowMs === 0,
  )
}
