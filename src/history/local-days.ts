// Calendar days of an IANA time zone as stretches of UTC time.
//
// A day begins at the first instant whose local date is that day or a later one, and ends where
// the next one begins. So days never overlap and leave nothing out: one whose midnight does not
// exist begins after the gap, one whose midnight comes twice at the first of them, and one that the
// zone skipped (Pacific/Apia, 2011-12-30) is no day. Two changes of a zone's offset within two days
// are taken not to happen; none is known.

import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../domain/time.ts'
import type { DurationMs, EpochMs, TimeRange } from '../domain/time.ts'

/** No zone is known to have changed before. What a year below 1 is called need not be read then. */
const FIRST_CHANGE_MS = Date.UTC(1800, 0, 1)

/** Formatters are dear to make; names are the client's to choose, so only some are kept. */
const FORMATTERS_MAX = 64
const formatters = new Map<string, Intl.DateTimeFormat>()

/** Windows that days are folded from, coarsest first. */
const FOLDED_WINDOWS_MS: readonly DurationMs[] = [HOUR_MS, 15 * MINUTE_MS, MINUTE_MS]

/** Whether `name` is a time zone of the IANA database; a bare offset is none. */
export function isTimeZone(name: string): boolean {
  try {
    return /^[A-Za-z]/.test(name) && formatterOf(name) !== undefined
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}

/** Days next to each other that the same windows add up to. */
export interface DayStretch extends TimeRange {
  /** Length of the windows on the UTC epoch grid, or `undefined`: only measurements do. */
  readonly windowMs: DurationMs | undefined
}

interface Day extends TimeRange {
  /** Days between 1970-01-01 and its date. */
  readonly number: number
}

/** The days of one zone. Cheapest when asked in ascending order. */
export class LocalDays {
  readonly #formatter: Intl.DateTimeFormat
  /** The day that was asked for last. */
  #day: Day | undefined

  /** @throws RangeError when there is no such zone */
  constructor(timeZone: string) {
    this.#formatter = formatterOf(timeZone)
  }

  /** Start of the day that holds `atMs`. */
  startOf(atMs: EpochMs): EpochMs {
    return this.#dayOf(atMs).startMs
  }

  /** Start of the day after the one that holds `atMs`. */
  stopOf(atMs: EpochMs): EpochMs {
    return this.#dayOf(atMs).stopMs
  }

  /** How many dates the range touches; skipped ones between them are counted. */
  countOf(range: TimeRange): number {
    return this.#dayOf(range.stopMs - 1).number - this.#dayOf(range.startMs).number + 1
  }

  /**
   * The days of a range, gathered by the windows they are folded from. Which these are depends on
   * a day alone, so that its value is the same in every range.
   *
   * @param range its ends are edges of days
   * @param daysMax days of one stretch at most
   */
  *stretches(range: TimeRange, daysMax: number): Iterable<DayStretch> {
    let { startMs } = range
    let stopMs = startMs
    let windowMs: DurationMs | undefined
    let days = 0
    while (stopMs < range.stopMs) {
      const day = this.#dayOf(stopMs)
      const dayWindowMs = windowOf(day)
      if (days > 0 && (dayWindowMs !== windowMs || days === daysMax)) {
        yield { startMs, stopMs, windowMs }
        startMs = stopMs
        days = 0
      }
      windowMs = dayWindowMs
      stopMs = day.stopMs
      days += 1
    }
    if (days > 0) yield { startMs, stopMs, windowMs }
  }

  #dayOf(atMs: EpochMs): Day {
    const day = this.#day
    if (day !== undefined && atMs >= day.startMs && atMs < day.stopMs) return day
    this.#day = this.#findDay(atMs, day?.stopMs === atMs ? day : undefined)
    return this.#day
  }

  #findDay(atMs: EpochMs, dayBefore: Day | undefined): Day {
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

  #localDate(atMs: EpochMs): number {
    return Math.floor((atMs + this.#offsetAt(atMs)) / DAY_MS)
  }

  #edge(number: number): EpochMs {
    const midnightMs = number * DAY_MS
    const offsetBeforeMs = this.#offsetAt(midnightMs - DAY_MS)
    const offsetAfterMs = this.#offsetAt(midnightMs + DAY_MS)
    const edgeBeforeMs = midnightMs - offsetBeforeMs
    if (offsetBeforeMs === offsetAfterMs) return edgeBeforeMs
    const changeMs = this.#findChange(midnightMs - DAY_MS, midnightMs + DAY_MS)
    return edgeBeforeMs < changeMs ? edgeBeforeMs : Math.max(changeMs, midnightMs - offsetAfterMs)
  }

  /** The first second of the offset that is in force at `highMs` and not yet at `lowMs`. */
  #findChange(lowMs: EpochMs, highMs: EpochMs): EpochMs {
    const offsetMs = this.#offsetAt(lowMs)
    let low = lowMs / SECOND_MS
    let high = highMs / SECOND_MS
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (this.#offsetAt(middle * SECOND_MS) === offsetMs) low = middle
      else high = middle
    }
    return high * SECOND_MS
  }

  /** What is added to UTC to get local time. */
  #offsetAt(atMs: EpochMs): DurationMs {
    const knownMs = Math.floor(Math.max(atMs, FIRST_CHANGE_MS) / SECOND_MS) * SECOND_MS
    // month/day/year, hour:minute:second
    const [month, day, year, hour, minute, second] = this.#formatter
      .format(knownMs)
      .split(/\D+/, 6)
      .map(Number) as [number, number, number, number, number, number]
    return Date.UTC(year, month - 1, day, hour, minute, second) - knownMs
  }
}

function windowOf(day: TimeRange): DurationMs | undefined {
  return FOLDED_WINDOWS_MS.find(
    (windowMs) => day.startMs % windowMs === 0 && day.stopMs % windowMs === 0,
  )
}

function formatterOf(timeZone: string): Intl.DateTimeFormat {
  const known = formatters.get(timeZone)
  if (known !== undefined) return known
  const formatter = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  const oldest = formatters.keys().next()
  if (formatters.size >= FORMATTERS_MAX && !oldest.done) formatters.delete(oldest.value)
  formatters.set(timeZone, formatter)
  return formatter
}
