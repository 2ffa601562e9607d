// The times in a file: RFC 3339, also with a space for the T, local times of a zone, and Unix
// times. The first Unix time that makes sense only in seconds or only in milliseconds decides the
// unit for the whole file.

import { formatInstant, parseInstant, SECOND_MS } from '../../domain/time.ts'
import { usage } from '../../operations/failure.ts'
import type { LocalTime, LocalTimes } from './local-times.ts'

const LOOSE_TIME =
  /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2})(:\d{2}(?:\.\d+)?)?\s?([Zz]|[+-]\d{2}:\d{2})?$/
const UNIX_TIME = /^\d{1,16}(\.\d+)?$/

export interface TimeSettings {
  /** Whether times without a zone are UTC. */
  readonly isUtc: boolean
  /** Otherwise the zone of times without one; `undefined`: there must be none. */
  readonly localTimes: LocalTimes | undefined
  /** Whether a measurement may have this time. */
  readonly isPossible: (atMs: number) => boolean
}

export class TimeReader {
  readonly #settings: TimeSettings
  /** The unit of Unix times, in milliseconds; `undefined`: not known yet. */
  #unixUnitMs: number | undefined

  constructor(settings: TimeSettings) {
    this.#settings = settings
  }

  /** @throws OperationError if Unix times could be both seconds and milliseconds */
  read(value: unknown): LocalTime {
    const text = typeof value === 'number' ? String(value) : value
    if (typeof text !== 'string') return invalid(value)
    const trimmed = text.trim()
    const exact = parseInstant(trimmed)
    if (exact !== undefined) return { atMs: exact }
    if (!UNIX_TIME.test(trimmed)) return this.#readLoose(trimmed) ?? invalid(value)
    const atMs = this.#readUnix(trimmed)
    return atMs === undefined ? invalid(value) : { atMs }
  }

  #readUnix(text: string): number | undefined {
    const number = Number(text)
    this.#unixUnitMs ??= this.#decideUnit(number)
    if (this.#unixUnitMs === undefined) return undefined
    const atMs = Math.round(number * this.#unixUnitMs)
    return Number.isNaN(new Date(atMs).valueOf()) ? undefined : atMs
  }

  #decideUnit(number: number): number | undefined {
    const asSeconds = Math.round(number * SECOND_MS)
    const asMs = Math.round(number)
    const { isPossible } = this.#settings
    if (isPossible(asSeconds) && isPossible(asMs)) {
      const both = `${formatInstant(asSeconds)} in seconds, ${formatInstant(asMs)} in milliseconds`
      const hint = 'Write times such as 2026-11-20T10:15:00Z, or set a later MIN_TIMESTAMP.'
      throw usage(`the unit of Unix times is not clear: ${number} is ${both}`, hint)
    }
    if (isPossible(asSeconds)) return SECOND_MS
    return isPossible(asMs) ? 1 : undefined
  }

  #readLoose(text: string): LocalTime | undefined {
    const [, date, minute, second = ':00', zone] = LOOSE_TIME.exec(text) ?? []
    if (date === undefined) return undefined
    const { isUtc, localTimes } = this.#settings
    const atMs = parseInstant(`${date}T${minute}${second}${zone ?? 'Z'}`)
    if (atMs === undefined) return undefined
    if (zone !== undefined || isUtc) return { atMs }
    const named = `timestamp ${JSON.stringify(text)}`
    if (localTimes === undefined) {
      return { fault: `${named} has no time zone: add one to it, or --timezone to the command` }
    }
    const local = localTimes.toInstant(atMs)
    return local.fault === undefined ? local : { fault: `${named} ${local.fault}` }
  }
}

function invalid(value: unknown): LocalTime {
  const given = JSON.stringify(value ?? null)
  return { fault: `timestamp ${given} is not a valid time (example: 2026-11-20T10:15:00Z)` }
}
