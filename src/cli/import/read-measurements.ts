// Turns the records of a file into measurements, and says what is wrong with those that are none.
//
// A measurement without an event id gets one that its content alone decides: sensor, time, value,
// and how many equal ones came before in the file. So the same file imported twice is stored once,
// and equal readings inside one file stay what they are.

import { hash } from 'node:crypto'
import type { SubmittedMeasurement } from '../../domain/measurement.ts'
import { serialNumberKey } from '../../domain/sensor.ts'
import { parseInstant } from '../../domain/time.ts'
import type { EpochMs } from '../../domain/time.ts'
import { formFault } from '../../operations/check-measurement.ts'
import type { RuleCheck } from '../../operations/check-measurement.ts'
import type { Columns } from './columns.ts'
import { EqualLines } from './equal-lines.ts'
import type { FileRecord } from './read-records.ts'

export interface ReaderSettings {
  readonly columns: Columns
  /** The sensor of a file of one sensor. */
  readonly serialNumber: string | undefined
}

/** A record as a measurement, or what is wrong with it. */
export type ReadResult =
  | { readonly measurement: SubmittedMeasurement; readonly fault?: undefined }
  | { readonly measurement?: undefined; readonly fault: string }

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i
const LOOSE_TIME =
  /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2})(:\d{2}(?:\.\d+)?)?\s?([Zz]|[+-]\d{2}:\d{2})?$/

export class MeasurementReader {
  readonly #settings: ReaderSettings
  readonly #rules: RuleCheck

  constructor(rules: RuleCheck, settings: ReaderSettings) {
    this.#rules = rules
    this.#settings = settings
  }

  read({ values, fault }: FileRecord): ReadResult {
    if (values === undefined) return { fault: fault ?? 'unreadable' }
    const { names, isUtc } = this.#settings.columns
    const cell = (name: string | undefined) => (name === undefined ? undefined : values[name])
    const time = cell(names.timestamp)
    const measuredAtMs = typeof time === 'string' ? parseTime(time.trim(), isUtc) : undefined
    if (measuredAtMs === undefined) return { fault: timeFault(time) }
    const serialNumber = this.#settings.serialNumber ?? trimmed(cell(names.sn))
    const tempCelsius = parseNumber(cell(names.temp))
    const eventId = cell(names.eventId) ?? ''
    const read = {
      eventId: eventId === '' ? null : eventId,
      serialNumber,
      tempCelsius,
      measuredAtMs,
    }
    const wrong = formFault(read)
    if (wrong !== undefined) return { fault: wrong }
    // formFault has looked at every member.
    const measurement = read as SubmittedMeasurement
    const broken = this.#rules.fault(measurement)
    if (broken !== undefined) return { fault: broken }
    return { measurement }
  }
}

/** Which sensors of a file have their measurements in the order of time, by key. */
export class TimeOrder {
  readonly #lastMs = new Map<string, EpochMs>()
  readonly #disordered = new Set<string>()

  add({ serialNumber, measuredAtMs }: SubmittedMeasurement): void {
    const key = serialNumberKey(serialNumber)
    const atMs = measuredAtMs ?? 0
    if (atMs < (this.#lastMs.get(key) ?? -Infinity)) this.#disordered.add(key)
    this.#lastMs.set(key, atMs)
  }

  isOrdered(sensorKey: string): boolean {
    return this.#lastMs.has(sensorKey) && !this.#disordered.has(sensorKey)
  }
}

/**
 * Names the measurements of a file that have no event id, in the order of the file. Of a sensor
 * whose times never go back only the lines of its last time can be equal to the next one; of all
 * others every line has to be remembered.
 */
export class EventNames {
  readonly #order: TimeOrder | undefined
  readonly #equalLines = new EqualLines()
  readonly #lastLines = new Map<string, { atMs: EpochMs; counts: Map<number, number> }>()

  /** @param order of the whole file, when it was read before */
  constructor(order: TimeOrder | undefined) {
    this.#order = order
  }

  named(measurement: SubmittedMeasurement): SubmittedMeasurement {
    const { eventId, serialNumber, measuredAtMs, tempCelsius } = measurement
    if (eventId !== null) return measurement
    const key = serialNumberKey(serialNumber)
    const digest = hash('sha256', `${key} ${measuredAtMs} ${tempCelsius}`, 'buffer')
    const before =
      this.#order?.isOrdered(key) === true
        ? this.#countAtLastTime(key, measuredAtMs ?? 0, tempCelsius)
        : this.#equalLines.countBefore(digest)
    const name = `import-${digest.toString('hex', 0, 16)}${before === 0 ? '' : `-${before}`}`
    return { eventId: name, serialNumber, measuredAtMs, tempCelsius }
  }

  #countAtLastTime(sensorKey: string, atMs: EpochMs, tempCelsius: number): number {
    let last = this.#lastLines.get(sensorKey)
    if (last?.atMs !== atMs) {
      last = { atMs, counts: new Map() }
      this.#lastLines.set(sensorKey, last)
    }
    const before = last.counts.get(tempCelsius) ?? 0
    last.counts.set(tempCelsius, before + 1)
    return before
  }
}

/** RFC 3339; in a file a space may stand for the T, and a column that says UTC needs no zone. */
function parseTime(text: string, isUtc: boolean): EpochMs | undefined {
  const exact = parseInstant(text)
  if (exact !== undefined) return exact
  const [, date, minute, second = ':00', zone = isUtc ? 'Z' : undefined] =
    LOOSE_TIME.exec(text) ?? []
  return zone === undefined ? undefined : parseInstant(`${date}T${minute}${second}${zone}`)
}

function timeFault(time: unknown): string {
  const form = 'is no time such as 2026-11-20T10:15:00Z'
  const isZoneMissing = typeof time === 'string' && LOOSE_TIME.test(time.trim())
  const why = isZoneMissing ? ', with a zone unless the column is called "… (UTC)"' : ''
  return `timestamp ${JSON.stringify(time ?? null)} ${form}${why}`
}

function parseNumber(value: unknown): unknown {
  if (typeof value !== 'string') return value
  return NUMBER.test(value.trim()) ? Number(value) : value
}

function trimmed(value: unknown): unknown {
  return typeof value === 'string' ? value.trim() : value
}
