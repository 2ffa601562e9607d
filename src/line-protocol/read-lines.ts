// A body of line protocol as measurements: what is stored, what cannot be and why, and which points
// have no temperature. A line that cannot be read costs none of its neighbours.
//
// A body is counted first, and refused whole if it has too much. Then it is read in parts, each
// when the one before is done with: however many measurements a body has, few exist at once.

import { isUtf8 } from 'node:buffer'
import { ServiceError } from '../domain/errors.ts'
import {
  lineBodyLinesMax,
  lineBodyMeasurementsMax,
  lineBytesMax,
  submissionMeasurementsMax,
} from '../domain/limits.ts'
import type { SubmittedMeasurement } from '../domain/measurement.ts'
import { countLines, mayHaveMoreTemperatures } from './count-lines.ts'
import { aliasOf, eventIdOf } from './identity.ts'
import { Line } from './line.ts'
import {
  closingQuote,
  decodeText,
  LineFault,
  mayFollowString,
  PointReader,
  TOO_LONG,
} from './point.ts'
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

/** A measurement that a line stands for. */
export interface LineReading {
  readonly line: Line
  /** Which field of the line has its temperature: the first one is 0. */
  readonly field: number
  readonly measurement: SubmittedMeasurement
}

export interface RefusedLine {
  readonly line: Line
  /** Which of its fields; `null`: all of the line. */
  readonly fields: readonly number[] | null
  readonly reason: string
  /** Whether the line has more of something than a line may have. */
  readonly isTooLarge: boolean
}

/** A body, part by part. */
export interface LineBody extends AsyncIterable<LinePart> {
  /** Empty ones, comments and line breaks in strings included. */
  readonly lineCount: number
}

/** What some lines of a body, one after another, are. */
export interface LinePart {
  /** With an event id; at most `submissionMeasurementsMax`: the next part has those beyond. */
  readonly keyed: readonly LineReading[]
  /** Of points without a time. */
  readonly unkeyed: readonly LineReading[]
  /** Each line once. */
  readonly refused: readonly RefusedLine[]
  /** Points without a temperature. */
  readonly skipped: readonly SkippedPoint[]
  /** Lines with a temperature, or that cannot be read. */
  readonly lineCount: number
  readonly isLast: boolean
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

/** In the fields of a line. */
const BEFORE_STRING = /(?<!\\)="/

/** A line as a point, or why it is none. */
interface WalkedLine {
  readonly line: Line
  readonly point?: Point<Series>
  readonly fault?: Omit<RefusedLine, 'line' | 'fields'>
}

interface FoundTemperature {
  readonly at: number
  readonly key: string
  readonly value: number
  readonly field: TemperatureField
  readonly time: PointTime | null
  /** What the point calls its sensor. */
  readonly named: string | undefined
}

/** Others have their turn after so much. */
const PART_LINES_MAX = 1_000
const PART_BYTES_MAX = 128 * 1024
const REASON_NAME_CHARACTERS_MAX = 64
const CELSIUS_MIN = -273.15
const CELSIUS_MAX = 10_000

/**
 * Reads a body, whose bytes are not needed afterwards.
 *
 * @param letOthers awaited now and then
 * @returns its parts; none if it is empty; each is made when it is asked for, once
 * @throws ServiceError `batch_too_large`
 */
export async function readLines(
  body: Buffer,
  rules: LineRules,
  letOthers: () => Promise<void>,
): Promise<LineBody> {
  const text = body.toString('latin1')
  const isUtf8Body = isUtf8(body)
  const walk = () => new LineWalk(text, isUtf8Body, rules.series)
  const lineCount = countLines(text, lineBodyLinesMax)
  if (lineCount > lineBodyLinesMax) throw tooLarge(lineBodyLinesMax)
  if (mayHaveMoreTemperatures(body, lineBodyMeasurementsMax, rules.series.isAnyName)) {
    await countTemperatures(walk(), letOthers)
  }
  const parts = readParts(new PartReader(walk(), rules.unitNs), letOthers)
  return { lineCount, [Symbol.asyncIterator]: () => parts }
}

function tooLarge(limit: number): ServiceError {
  return new ServiceError('batch_too_large', { members: { limit } })
}

/** @throws ServiceError `batch_too_large` */
async function countTemperatures(walk: LineWalk, letOthers: () => Promise<void>): Promise<void> {
  let count = 0
  let turnAt = PART_BYTES_MAX
  for (let read = walk.next(); read !== undefined; read = walk.next()) {
    const { series, fields = [] } = read.point ?? {}
    for (const { key, value } of fields) {
      if (typeof value !== 'number' || series?.hasTemperature(key) !== true) continue
      if (++count > lineBodyMeasurementsMax) throw tooLarge(lineBodyMeasurementsMax)
    }
    if (walk.bytesRead < turnAt) continue
    turnAt = walk.bytesRead + PART_BYTES_MAX
    await letOthers()
  }
}

async function* readParts(
  reader: PartReader,
  letOthers: () => Promise<void>,
): AsyncGenerator<LinePart> {
  for (let part = reader.next(); part !== undefined; part = reader.next()) {
    yield part
    if (!part.isLast) await letOthers()
  }
}

/** Walks through the lines of a body. */
class LineWalk {
  readonly #text: string
  readonly #isUtf8: boolean
  readonly #points: PointReader<Series>
  #at = 0
  #number = 0
  /** Characters that may be read a second time, after a quote that nothing closes. */
  #rereadMax: number
  /** Characters that may be looked at in vain for the quote that closes a long string. */
  #lookMax: number
  /** Characters looked at one by one, those that were read twice too. */
  bytesRead = 0

  constructor(text: string, isUtf8Body: boolean, series: SeriesMemory) {
    this.#text = text
    this.#isUtf8 = isUtf8Body
    this.#points = new PointReader(text, series)
    this.#rereadMax = text.length
    this.#lookMax = text.length
  }

  /** Whether only empty lines and comments are left. */
  isAtEnd(): boolean {
    return this.#skipEmpty() === undefined
  }

  /** The next line that is neither empty nor a comment; `undefined` behind the last. */
  next(): WalkedLine | undefined {
    const content = this.#skipEmpty()
    if (content === undefined) return undefined
    this.#number++
    return this.#read(this.#at, content)
  }

  /** Goes to the next line with content. @returns where that begins */
  #skipEmpty(): number | undefined {
    while (this.#at < this.#text.length) {
      const content = this.#firstOf(this.#at)
      if (content !== undefined) return content
      this.#number++
      this.#at = this.#endOf(this.#at) + 1
    }
    return undefined
  }

  #read(start: number, content: number): WalkedLine {
    try {
      const point = this.#points.read(content)
      const line = this.#take(start, this.#points.end, this.#points.end)
      if (line.length > lineBytesMax) return { line, fault: { reason: TOO_LONG, isTooLarge: true } }
      if (this.#isReadable(line)) return { line, point }
      return { line, fault: { reason: 'not UTF-8', isTooLarge: false } }
    } catch (error) {
      if (!(error instanceof LineFault)) throw error
      const line = this.#take(start, this.#endOfFault(start, error), error.readTo)
      const isTooLong = line.length > lineBytesMax
      const reason = isTooLong ? TOO_LONG : error.message
      const isTooLarge = isTooLong || error.isTooLarge
      return { line, fault: { reason: this.#isReadable(line) ? reason : 'not UTF-8', isTooLarge } }
    }
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
   * Where a line ends that cannot be read. One that is too large ends behind its strings: what they
   * contain is no line. Another one ends at its first line break, so that a quote that nothing
   * closes costs no neighbours. Either may make a body cost its length once more at most.
   */
  #endOfFault(start: number, { readTo, isTooLarge, openString }: LineFault): number {
    if (isTooLarge) return this.#endBehind(readTo)
    const closed = openString === undefined ? undefined : this.#endOfString(openString)
    if (closed !== undefined) return this.#endBehind(closed)
    const end = this.#endOf(start)
    const reread = readTo - end
    if (reread <= 0) return end
    this.#rereadMax -= reread
    return this.#rereadMax >= 0 ? end : this.#endOf(readTo)
  }

  /** Where the line ends that goes on at a place, behind its strings. */
  #endBehind(place: number): number {
    let at = place
    let end = this.#endOf(at)
    for (;;) {
      const before = this.#text.slice(at, end).search(BEFORE_STRING)
      const closed = before === -1 ? undefined : this.#endOfString(at + before + '="'.length)
      if (closed === undefined) return end
      if (closed > end) end = this.#endOf(closed)
      at = closed
    }
  }

  /** Behind the quote that closes a string; `undefined` if none does, by what follows it. */
  #endOfString(start: number): number | undefined {
    if (this.#lookMax <= 0) return undefined
    const quote = closingQuote(this.#text, start, this.#text.length)
    if (quote < this.#text.length && mayFollowString(this.#text, quote + 1)) return quote + 1
    this.#lookMax -= quote - start
    return undefined
  }

  #take(start: number, end: number, readTo: number): Line {
    const line = new Line(this.#number, this.#text, start, end)
    for (let at = this.#endOf(start); at < end; at = this.#endOf(at + 1)) this.#number++
    this.bytesRead += readTo - start
    this.#at = end + 1
    return line
  }

  #isReadable(line: Line): boolean {
    return this.#isUtf8 || isUtf8(Buffer.from(line.text, 'latin1'))
  }
}

/** Makes measurements of lines. */
class PartReader {
  readonly #walk: LineWalk
  readonly #unitNs: bigint
  #keyed: LineReading[] = []
  #unkeyed: LineReading[] = []
  #refused: (RefusedLine & { readonly fields: number[] | null })[] = []
  #skipped: SkippedPoint[] = []

  constructor(walk: LineWalk, unitNs: bigint) {
    this.#walk = walk
    this.#unitNs = unitNs
  }

  next(): LinePart | undefined {
    const bytesMax = this.#walk.bytesRead + PART_BYTES_MAX
    let lineCount = 0
    for (let lines = 0; lines < PART_LINES_MAX && this.#walk.bytesRead < bytesMax; lines++) {
      if (this.#keyed.length + this.#unkeyed.length >= submissionMeasurementsMax) break
      const read = this.#walk.next()
      if (read === undefined) break
      if (this.#readLine(read)) lineCount++
    }
    return this.#takePart(lineCount)
  }

  #takePart(lineCount: number): LinePart | undefined {
    const [unkeyed, refused, skipped] = [this.#unkeyed, this.#refused, this.#skipped]
    const keyed = this.#keyed.slice(0, submissionMeasurementsMax)
    if (keyed.length + unkeyed.length + refused.length + skipped.length === 0) return undefined
    this.#keyed = this.#keyed.slice(submissionMeasurementsMax)
    this.#unkeyed = []
    this.#refused = []
    this.#skipped = []
    const isLast = this.#walk.isAtEnd() && this.#keyed.length === 0
    return { keyed, unkeyed, refused, skipped, lineCount, isLast }
  }

  /** @returns whether it has a temperature, or cannot be read */
  #readLine({ line, point, fault }: WalkedLine): boolean {
    if (fault !== undefined) this.#refused.push({ line, fields: null, ...fault })
    if (point === undefined) return true
    const { series, fields, time: text } = point
    let time: PointTime | null | undefined
    let named: string | undefined
    for (const [at, { key, value }] of fields.entries()) {
      const field = typeof value === 'number' ? series.temperature(key) : undefined
      if (field === undefined) continue
      if (time === undefined) {
        time = text === undefined ? null : pointTime(text, this.#unitNs)
        if (time === undefined) {
          const reason = 'time outside range'
          this.#refused.push({ line, fields: null, reason, isTooLarge: false })
          return true
        }
        const hasText = fields.some((other) => typeof other.value === 'string')
        named = hasText ? aliasOf(series, fields) : series.alias
      }
      this.#readTemperature(line, { at, key, value: value as number, field, time, named })
    }
    if (time === undefined) this.#skipped.push({ line, point })
    return time !== undefined
  }

  #readTemperature(line: Line, { at, key, value, field, time, named }: FoundTemperature): void {
    const { unit, serialNumber, head } = field
    const alias = named ?? field.alias
    const tempCelsius = celsiusOf(value, unit)
    if (!(tempCelsius >= CELSIUS_MIN && tempCelsius <= CELSIUS_MAX)) {
      const range = `${CELSIUS_MIN} to ${CELSIUS_MAX}`
      const name = decodeText(key.slice(0, REASON_NAME_CHARACTERS_MAX))
      return this.#refuse(line, at, `${name} is outside ${range} degrees Celsius`)
    }
    const measuredAtMs = time && time.measuredAtMs
    const eventId = time && eventIdOf(head, time.nanoseconds, value)
    const reading = { eventId, serialNumber, tempCelsius, measuredAtMs }
    const measurement = alias === undefined ? reading : { ...reading, alias }
    const readings = time === null ? this.#unkeyed : this.#keyed
    readings.push({ line, field: at, measurement })
  }

  /** Each line once, with the reason of its first field. */
  #refuse(line: Line, field: number, reason: string): void {
    const last = this.#refused.at(-1)
    if (last?.line === line) last.fields?.push(field)
    else this.#refused.push({ line, fields: [field], reason, isTooLarge: false })
  }
}
