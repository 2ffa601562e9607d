// Turns the records of a file into measurements, or reports why it cannot.
//
// A measurement without an event id gets one that depends only on its content: sensor, time, value,
// and the number of equal ones before it in the file. So importing a file twice stores it once, and
// equal readings inside one file stay separate.

import { hash } from 'node:crypto'
import type { SubmittedMeasurement } from '../../domain/measurement.ts'
import { serialNumberKey } from '../../domain/sensor.ts'
import { celsiusOf, unitNamed } from '../../domain/temperature-unit.ts'
import { formFault } from '../../operations/check-measurement.ts'
import type { RuleCheck } from '../../operations/check-measurement.ts'
import { failed } from '../../operations/failure.ts'
import type { Columns } from './columns.ts'
import { EqualLines } from './equal-lines.ts'
import type { LocalTimes } from './local-times.ts'
import type { FileRecord } from './read-records.ts'
import { TimeReader } from './read-times.ts'
import type { TemperatureUnit } from './temperature-unit.ts'

export interface ReaderSettings {
  readonly columns: Columns
  readonly unit: TemperatureUnit
  /** Whether `21,5` is a number. */
  readonly hasDecimalComma: boolean
  /** The zone of times without one; `undefined`: there must be none, or the column says UTC. */
  readonly localTimes: LocalTimes | undefined
  /** The sensor, if the file is of one sensor. */
  readonly serialNumber: string | undefined
}

/** A record as a measurement, or its fault. */
export type ReadResult =
  | { readonly measurement: SubmittedMeasurement; readonly fault?: undefined }
  | { readonly measurement?: undefined; readonly fault: string }

export const FILE_CHANGED = 'the file was changed while it was imported'

const UNITS = { C: 'celsius', F: 'fahrenheit', K: 'kelvin' } as const
const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i
export class MeasurementReader {
  readonly #settings: ReaderSettings
  readonly #rules: RuleCheck
  readonly #times: TimeReader

  constructor(rules: RuleCheck, settings: ReaderSettings) {
    const { columns, localTimes } = settings
    this.#rules = rules
    this.#settings = settings
    this.#times = new TimeReader({
      isUtc: columns.isUtc,
      localTimes,
      isPossible: (atMs) => rules.timeFault(atMs) === undefined,
    })
  }

  /** @throws OperationError if the times of the file are ambiguous */
  read({ values, fault }: FileRecord): ReadResult {
    if (values === undefined) return { fault: fault ?? 'unreadable' }
    const { columns, unit, hasDecimalComma } = this.#settings
    const { names } = columns
    const cell = (name: string | undefined) => (name === undefined ? undefined : values[name])
    const { atMs: measuredAtMs, fault: wrongTime } = this.#times.read(cell(names.timestamp))
    if (wrongTime !== undefined) return { fault: wrongTime }
    const otherUnit = columns.units.map(cell).find((said) => isOtherUnit(said, unit))
    if (otherUnit !== undefined) {
      return { fault: `the unit ${JSON.stringify(otherUnit)} is not ${UNITS[unit]}: see --unit` }
    }
    const serialNumber = this.#settings.serialNumber ?? trimmed(cell(names.sn))
    const tempCelsius = toCelsius(parseNumber(cell(names.temp), hasDecimalComma), unit)
    const eventId = cell(names.eventId) ?? ''
    const read = {
      eventId: eventId === '' ? null : eventId,
      serialNumber,
      tempCelsius,
      measuredAtMs,
    }
    const wrong = formFault(read)
    if (wrong !== undefined) return { fault: wrong }
    // formFault has checked every member.
    const measurement = read as SubmittedMeasurement
    const broken = this.#rules.fault(measurement)
    if (broken !== undefined) return { fault: broken }
    return { measurement }
  }
}

/** A measurement with its event id in an import. */
export interface NamedMeasurement {
  readonly measurement: SubmittedMeasurement
  /** Whether the event id is the file's. */
  readonly hasOwnId: boolean
  /** How many equal ones are before it in the file, with whatever event ids. */
  readonly equalsBefore: number
}

/** Which sensors have their measurements in time order in a file, by key. */
export class TimeOrder {
  readonly #lastMs = new Map<string, number>()
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
 * Assigns event ids to a file's measurements that have none, in file order. If the times of a
 * sensor never go back, only the lines of its latest time can equal the next one; for all other
 * sensors every line has to be remembered.
 */
export class EventNames {
  readonly #order: TimeOrder | undefined
  readonly #equalLines = new EqualLines()
  readonly #lastLines = new Map<string, { atMs: number; counts: Map<number, number> }>()

  /** @param order of the whole file, if it was read before */
  constructor(order: TimeOrder | undefined) {
    this.#order = order
  }

  /** @throws OperationError if the order of the file is not what it was */
  named(measurement: SubmittedMeasurement): NamedMeasurement {
    const { eventId, serialNumber, measuredAtMs, tempCelsius } = measurement
    const hasOwnId = eventId !== null
    const key = serialNumberKey(serialNumber)
    const digest = () => hash('sha256', `${key} ${measuredAtMs} ${tempCelsius}`, 'buffer')
    const equalsBefore =
      this.#order?.isOrdered(key) === true
        ? this.#countAtLastTime(key, measuredAtMs ?? 0, tempCelsius)
        : this.#equalLines.countBefore(digest())
    if (hasOwnId) return { measurement, hasOwnId, equalsBefore }
    const number = equalsBefore === 0 ? '' : `-${equalsBefore}`
    const name = `import-${digest().toString('hex', 0, 16)}${number}`
    const named = { eventId: name, serialNumber, measuredAtMs, tempCelsius }
    return { measurement: named, hasOwnId, equalsBefore }
  }

  #countAtLastTime(sensorKey: string, atMs: number, tempCelsius: number): number {
    let last = this.#lastLines.get(sensorKey)
    if (last !== undefined && atMs < last.atMs) throw failed(FILE_CHANGED)
    if (last?.atMs !== atMs) {
      last = { atMs, counts: new Map() }
      this.#lastLines.set(sensorKey, last)
    }
    const before = last.counts.get(tempCelsius) ?? 0
    last.counts.set(tempCelsius, before + 1)
    return before
  }
}

function parseNumber(value: unknown, hasDecimalComma: boolean): unknown {
  if (typeof value !== 'string') return value
  const text = hasDecimalComma ? value.trim().replace(',', '.') : value.trim()
  return NUMBER.test(text) ? Number(text) : value
}

function toCelsius(value: unknown, unit: TemperatureUnit): unknown {
  return typeof value === 'number' ? celsiusOf(value, UNITS[unit]) : value
}

function isOtherUnit(said: unknown, unit: TemperatureUnit): boolean {
  return typeof said === 'string' && said.trim() !== '' && unitNamed(said) !== UNITS[unit]
}

function trimmed(value: unknown): unknown {
  return typeof value === 'string' ? value.trim() : value
}
