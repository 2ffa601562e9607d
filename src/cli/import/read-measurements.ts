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

/** Names the measurements of a file that have no event id, in the order of the file. */
export class EventNames {
  readonly #equalLines = new EqualLines()

  named(measurement: SubmittedMeasurement): SubmittedMeasurement {
    const { eventId, serialNumber, measuredAtMs, tempCelsius } = measurement
    if (eventId !== null) return measurement
    const content = `${serialNumberKey(serialNumber)} ${measuredAtMs} ${tempCelsius}`
    const digest = hash('sha256', content, 'buffer')
    const before = this.#equalLines.countBefore(digest)
    const name = `import-${digest.toString('hex', 0, 16)}${before === 0 ? '' : `-${before}`}`
    return { eventId: name, serialNumber, measuredAtMs, tempCelsius }
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
