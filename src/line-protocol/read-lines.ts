// A body of line protocol as measurements: what is stored, what cannot be and why, and which points
// have no temperature. A line that cannot be read costs none of its neighbours.

import { isUtf8 } from 'node:buffer'
import { ServiceError } from '../domain/errors.ts'
import { lineBodyLinesMax } from '../domain/limits.ts'
import type { SubmittedMeasurement } from '../domain/measurement.ts'
import { aliasOf, eventIdOf, serialNumberOf } from './identity.ts'
import type { SerialNumberRules } from './identity.ts'
import { decodeText, LineFault, readPoint } from './point.ts'
import type { Field, Point } from './point.ts'
import { pointTime } from './point-time.ts'
import type { PointTime } from './point-time.ts'
import { celsiusOf, isTemperature } from './temperature.ts'

export interface LineRules extends SerialNumberRules {
  /** Fields that are temperatures, beside the known ones; in lower case. */
  readonly fields: ReadonlySet<string>
  /** Nanoseconds of the unit in which times are given. */
  readonly unitNs: bigint
}

/** A line of a body; the first one is 1. */
export interface Line {
  readonly number: number
  /** Its bytes, one character each. */
  readonly text: string
}

/** A measurement that a line stands for. */
export interface LineReading {
  readonly line: Line
  readonly measurement: SubmittedMeasurement
}

export interface RefusedLine {
  readonly line: Line
  readonly reason: string
}

export interface LineBody {
  /** With an event id. */
  readonly keyed: readonly LineReading[]
  /** Of points without a time. */
  readonly unkeyed: readonly LineReading[]
  readonly refused: readonly RefusedLine[]
  /** Points without a temperature. */
  readonly skipped: readonly SkippedPoint[]
}

export interface SkippedPoint {
  readonly line: Line
  readonly point: Point
}

const LINES_PER_TURN = 1_000
/** How often the key of a point is looked at, by its fields, for each byte of its line. */
const KEY_READS_PER_BYTE_MAX = 64
const CELSIUS_MIN = -273.15
const CELSIUS_MAX = 10_000

/**
 * Reads a body.
 *
 * @param letOthers awaited now and then
 * @throws ServiceError `batch_too_large`
 */
export async function readLines(
  body: Buffer,
  rules: LineRules,
  letOthers: () => Promise<void>,
): Promise<LineBody> {
  const reader = new LinesReader(body, rules)
  while (reader.readSome(LINES_PER_TURN)) await letOthers()
  return reader
}

class LinesReader implements LineBody {
  readonly keyed: LineReading[] = []
  readonly unkeyed: LineReading[] = []
  readonly refused: RefusedLine[] = []
  readonly skipped: SkippedPoint[] = []
  readonly #text: string
  readonly #isUtf8: boolean
  readonly #rules: LineRules
  #at = 0
  #number = 0
  /** Characters that may be read a second time, after a quote that nothing closes. */
  #rereadMax: number

  constructor(body: Buffer, rules: LineRules) {
    this.#text = body.toString('latin1')
    this.#isUtf8 = isUtf8(body)
    this.#rules = rules
    this.#rereadMax = body.length
  }

  /** @returns whether there is more */
  readSome(lines: number): boolean {
    for (let count = 0; count < lines && this.#at < this.#text.length; count++) this.#readLine()
    return this.#at < this.#text.length
  }

  #readLine(): void {
    if (++this.#number > lineBodyLinesMax) {
      throw new ServiceError('batch_too_large', { members: { limit: lineBodyLinesMax } })
    }
    const start = this.#at
    const content = this.#firstOf(start)
    if (content === undefined) return this.#endLine(this.#endOf(start))
    try {
      const { point, end } = readPoint(this.#text, content)
      const line = this.#take(start, end)
      if (!this.#isReadable(line)) this.#refuse(line, 'not UTF-8')
      else this.#readPoint(line, point)
    } catch (error) {
      if (!(error instanceof LineFault)) throw error
      const line = this.#take(start, this.#endOfFault(start, error))
      this.#refuse(line, this.#isReadable(line) ? error.message : 'not UTF-8')
    }
  }

  #readPoint(line: Line, point: Point): void {
    if (isLaborious(line, point)) return this.#refuse(line, 'too many fields for so long a key')
    const temperatures = point.fields.filter((field): field is Field & { value: number } => {
      const { key, value } = field
      return typeof value === 'number' && isTemperature(point, key, this.#rules.fields)
    })
    if (temperatures.length === 0) {
      this.skipped.push({ line, point })
      return
    }
    const { time: text } = point
    const time = text === undefined ? null : pointTime(text, this.#rules.unitNs)
    if (time === undefined) return this.#refuse(line, 'time outside range')
    for (const field of temperatures) this.#readTemperature(line, { point, field, time })
  }

  #readTemperature(
    line: Line,
    at: { point: Point; field: Field & { value: number }; time: PointTime | null },
  ): void {
    const { point, field, time } = at
    const tempCelsius = celsiusOf(point, field.key, field.value)
    if (!(tempCelsius >= CELSIUS_MIN && tempCelsius <= CELSIUS_MAX)) {
      const range = `${CELSIUS_MIN} to ${CELSIUS_MAX}`
      return this.#refuse(line, `${decodeText(field.key)} is outside ${range} degrees Celsius`)
    }
    const alias = aliasOf(point)
    const measurement = {
      ...(alias !== undefined && { alias }),
      eventId: time && eventIdOf(point, field, time.nanoseconds),
      serialNumber: serialNumberOf(point, field.key, this.#rules),
      tempCelsius,
      measuredAtMs: time && time.measuredAtMs,
    }
    const readings = time === null ? this.unkeyed : this.keyed
    readings.push({ line, measurement })
  }

  #refuse(line: Line, reason: string): void {
    this.refused.push({ line, reason })
  }

  /** Where the content of a line begins; `undefined` for one that is empty or a comment. */
  #firstOf(start: number): number | undefined {
    let at = start
    while (' \t\r\0'.includes(this.#text[at] ?? '\n')) at++
    const character = this.#text[at]
    return character === undefined || character === '\n' || character === '#' ? undefined : at
  }

  #endOf(start: number): number {
    const end = this.#text.indexOf('\n', start)
    return end === -1 ? this.#text.length : end
  }

  /**
   * Where a line ends that cannot be read: at its first line break, so that a quote that nothing
   * closes costs no neighbours. That may not make a body cost more than twice its length.
   */
  #endOfFault(start: number, { readTo }: LineFault): number {
    const end = this.#endOf(start)
    const reread = readTo - end
    if (reread <= 0) return end
    this.#rereadMax -= reread
    return this.#rereadMax >= 0 ? end : this.#endOf(readTo)
  }

  #take(start: number, end: number): Line {
    const text = this.#text.slice(start, end).replace(/\r$/, '')
    const line = { number: this.#number, text }
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) this.#number++
    this.#endLine(end)
    return line
  }

  #endLine(end: number): void {
    this.#at = end + 1
  }

  #isReadable({ text }: Line): boolean {
    return this.#isUtf8 || isUtf8(Buffer.from(text, 'latin1'))
  }
}

/** Whether a point would cost more than its bytes are worth: each field needs the whole key. */
function isLaborious({ text }: Line, { measurement, tags, fields }: Point): boolean {
  if (fields.length <= KEY_READS_PER_BYTE_MAX) return false
  const keyLength = tags.reduce(
    (sum, { key, value }) => sum + key.length + value.length,
    measurement.length,
  )
  return keyLength * fields.length > text.length * KEY_READS_PER_BYTE_MAX
}
