// A body of line protocol as measurements: what is stored, what cannot be and why, and which points
// have no temperature. A line that cannot be read costs none of its neighbours.

import { isUtf8 } from 'node:buffer'
import { ServiceError } from '../domain/errors.ts'
import { lineBodyLinesMax } from '../domain/limits.ts'
import type { SubmittedMeasurement } from '../domain/measurement.ts'
import { aliasOf, eventIdOf } from './identity.ts'
import { decodeText, LineFault, PointReader } from './point.ts'
import type { Point } from './point.ts'
import { pointTime } from './point-time.ts'
import type { PointTime } from './point-time.ts'
import type { Series, SeriesMemory, TemperatureField } from './series.ts'
import { celsiusOf } from './temperature.ts'

export interface LineRules {
  readonly series: SeriesMemory
  /** Nanoseconds of the unit in which times are given. */
  readonly unitNs: bigint
}

/** A line of a body. */
export class Line {
  /** The first one is 1. */
  readonly number: number
  readonly #body: string
  readonly #start: number
  readonly #end: number

  constructor(number: number, body: string, start: number, end: number) {
    this.number = number
    this.#body = body
    this.#start = start
    this.#end = end
  }

  /** Its bytes, one character each. */
  get text(): string {
    return this.#body.slice(this.#start, this.#end).replace(/\r$/, '')
  }

  get length(): number {
    return this.#end - this.#start
  }
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
  readonly point: Point<Series>
}

const NUL = 0
const TAB = 9
const NEW_LINE = 10
const RETURN = 13
const BLANK = 32
const HASH = 35

interface FoundTemperature {
  readonly key: string
  readonly value: number
  readonly field: TemperatureField
  readonly time: PointTime | null
  readonly alias: string | undefined
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
  readonly #points: PointReader<Series>
  #at = 0
  #number = 0
  /** Characters that may be read a second time, after a quote that nothing closes. */
  #rereadMax: number

  constructor(body: Buffer, rules: LineRules) {
    this.#text = body.toString('latin1')
    this.#isUtf8 = isUtf8(body)
    this.#rules = rules
    this.#points = new PointReader(this.#text, rules.series)
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
      const point = this.#points.read(content)
      const line = this.#take(start, this.#points.end)
      if (!this.#isReadable(line)) this.#refuse(line, 'not UTF-8')
      else this.#readPoint(line, point)
    } catch (error) {
      if (!(error instanceof LineFault)) throw error
      const line = this.#take(start, this.#endOfFault(start, error))
      this.#refuse(line, this.#isReadable(line) ? error.message : 'not UTF-8')
    }
  }

  #readPoint(line: Line, point: Point<Series>): void {
    if (isLaborious(line, point)) return this.#refuse(line, 'too many fields for so long a key')
    const { series, fields, time: text } = point
    let time: PointTime | null | undefined
    let alias: string | undefined
    for (const { key, value } of fields) {
      const field = typeof value === 'number' ? series.temperature(key) : undefined
      if (field === undefined) continue
      if (time === undefined) {
        time = text === undefined ? null : pointTime(text, this.#rules.unitNs)
        if (time === undefined) return this.#refuse(line, 'time outside range')
        alias = fields.length === 1 ? series.alias : aliasOf(series, fields)
      }
      this.#readTemperature(line, { key, value: value as number, field, time, alias })
    }
    if (time === undefined) this.skipped.push({ line, point })
  }

  #readTemperature(line: Line, { key, value, field, time, alias }: FoundTemperature): void {
    const { unit, serialNumber, pieces } = field
    const tempCelsius = celsiusOf(value, unit)
    if (!(tempCelsius >= CELSIUS_MIN && tempCelsius <= CELSIUS_MAX)) {
      const range = `${CELSIUS_MIN} to ${CELSIUS_MAX}`
      return this.#refuse(line, `${decodeText(key)} is outside ${range} degrees Celsius`)
    }
    const measuredAtMs = time && time.measuredAtMs
    const eventId = time && eventIdOf(pieces, time.nanoseconds, value)
    const reading = { eventId, serialNumber, tempCelsius, measuredAtMs }
    const measurement = alias === undefined ? reading : { ...reading, alias }
    const readings = time === null ? this.unkeyed : this.keyed
    readings.push({ line, measurement })
  }

  #refuse(line: Line, reason: string): void {
    this.refused.push({ line, reason })
  }

  /** Where the content of a line begins; `undefined` for one that is empty or a comment. */
  #firstOf(start: number): number | undefined {
    let at = start
    let code = this.#text.charCodeAt(at)
    while (code === BLANK || code === TAB || code === RETURN || code === NUL) {
      code = this.#text.charCodeAt(++at)
    }
    return Number.isNaN(code) || code === NEW_LINE || code === HASH ? undefined : at
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
    const line = new Line(this.#number, this.#text, start, end)
    for (let at = this.#endOf(start); at < end; at = this.#endOf(at + 1)) this.#number++
    this.#endLine(end)
    return line
  }

  #endLine(end: number): void {
    this.#at = end + 1
  }

  #isReadable(line: Line): boolean {
    return this.#isUtf8 || isUtf8(Buffer.from(line.text, 'latin1'))
  }
}

/** Whether a point would cost more than its bytes are worth: each field needs the whole key. */
function isLaborious({ length }: Line, { series, fields }: Point): boolean {
  if (fields.length <= KEY_READS_PER_BYTE_MAX) return false
  const keyLength = series.tags.reduce(
    (sum, { key, value }) => sum + key.length + value.length,
    series.measurement.length,
  )
  return keyLength * fields.length > length * KEY_READS_PER_BYTE_MAX
}
