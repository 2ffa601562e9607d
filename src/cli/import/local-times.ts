// Local times of a time zone as instants. Clocks set forward skip some times, and clocks set back
// show some twice: such times do not identify an instant.

import { Temporal } from 'temporal-polyfill'
import { usage } from '../../operations/failure.ts'
import { DAY_MS } from '../../domain/time.ts'

const DAYS_MAX = 1_000

export type LocalTime =
  | { readonly atMs: number; readonly fault?: undefined }
  | { readonly atMs?: undefined; readonly fault: string }

export class LocalTimes {
  readonly #zone: string
  /** The offset of local time from UTC, by day; `undefined`: it changes near that day. */
  readonly #offsets = new Map<number, number | undefined>()

  /** @throws OperationError if there is no such zone */
  constructor(zone: string) {
    try {
      this.#zone = Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(zone).timeZoneId
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      const hint = 'Examples: Europe/Berlin, America/New_York, UTC'
      throw usage(`--timezone ${JSON.stringify(zone)} is not a known time zone`, hint)
    }
  }

  /** @param localMs the local time, read as if it were UTC */
  toInstant(localMs: number): LocalTime {
    const offsetMs = this.#offsetAround(Math.floor(localMs / DAY_MS))
    if (offsetMs !== undefined) return { atMs: localMs - offsetMs }
    const shown = plain(localMs)
    const earlier = shown.toZonedDateTime(this.#zone, { disambiguation: 'earlier' })
    const later = shown.toZonedDateTime(this.#zone, { disambiguation: 'later' })
    if (earlier.epochMilliseconds === later.epochMilliseconds) {
      return { atMs: earlier.epochMilliseconds }
    }
    const isSkipped = !earlier.toPlainDateTime().equals(shown)
    return { fault: `${isSkipped ? 'does not exist' : 'exists twice'} in ${this.#zone}` }
  }

  #offsetAround(day: number): number | undefined {
    if (!this.#offsets.has(day)) {
      if (this.#offsets.size >= DAYS_MAX) this.#offsets.clear()
      const before = this.#offsetAt((day - 1) * DAY_MS)
      const after = this.#offsetAt((day + 2) * DAY_MS)
      this.#offsets.set(day, before === after ? before : undefined)
    }
    return this.#offsets.get(day)
  }

  #offsetAt(localMs: number): number {
    return plain(localMs).toZonedDateTime(this.#zone).offsetNanoseconds / 1_000_000
  }
}

function plain(localMs: number): Temporal.PlainDateTime {
  return Temporal.Instant.fromEpochMilliseconds(localMs).toZonedDateTimeISO('UTC').toPlainDateTime()
}
