// Turns a body of line protocol into measurements: those to store, those that cannot be stored and
// why, and points without a temperature. An unreadable line does not affect its neighbours.
//
// A body is counted first, and refused whole if it exceeds a limit. Then it is read in parts, each
// after the previous one is finished, so that few measurements exist at once.

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
  /** Nanoseconds per unit of the given times. */
  readonly unitNs: bigint
}

/** A measurement from a line. */
export interface LineReading {
  readonly line: Line
  /** The index of the line's field with its temperature, from 0. */
  readonly field: number
  readonly measurement: SubmittedMeasurement
}

export interface RefusedLine {
  readonly line: Line
  /** Which of its fields; `null`: the whole line. */
  readonly fields: readonly number[] | null
  readonly reason: string
  /** Whether the line exceeds a limit for lines. */
  readonly isTooLarge: boolean
}

/** A body, part by part. */
export interface LineBody extends AsyncIterable<LinePart> {
  /** Including empty lines, comments and line breaks in strings. */
  readonly lineCount: number
}

/** Some consecutive lines of a body. */
export interface LinePart {
  /** With an event id; at most `submissionMeasurementsMax`, the rest in the next part. */
  readonly keyed: readonly LineReading[]
  /** From points without a time. */
  readonly unkeyed: readonly LineReading[]
  /** Each line once. */
  readonly refused: readonly RefusedLine[]
  /** Points without a temperature. */
  readonly skipped: readonly SkippedPoint[]
  /** Lines with a temperature, and unreadable ones. */
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

/** In a line's fields. */
const BEFORE_STRING = /(?<!\\)="/

/** A line as a point, or the reason that it is not one. */
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

/** Other work runs after this many lines. */
const PART_LINES_MAX = 1_000
const PART_BYTES_MAX = 128 * 1024
const REASON_NAME_CHARACTERS_MAX = 64
const CELSIUS_MIN = -273.15
const CELSIUS_MAX = 10_000

/**
 * Reads a body; its bytes are not needed afterwards.
 *
 * @param letOthers awaited now and then
 * @returns its parts, none if it is empty; each is made on demand, once
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

/** Walks through a body's lines. */
class LineWalk {
  readonly #text: string
  readonly #isUtf8: boolean
  readonly #points: PointReader<Series>
  #at = 0
  #number = 0
  /** Characters that may be read again after an unclosed quote. */
  #rereadMax: number
  /** Characters that may be searched in vain for the closing quote of a long string. */
  #lookMax: number
  /** Characters read one by one, including those read twice. */
  bytesRead = 0

  constructor(text: string, isUtf8Body: boolean, series: SeriesMemory) {
    this.#text = text
    this.#isUtf8 = isUtf8Body
    this.#points = new PointReader(text, series)
    this.#rereadMax = text.length
    this.#lookMax = text.length
  }

  /** Whether only empty lines and comments remain. */
  isAtEnd(): boolean {
    return this.#skipEmpty() === undefined
  }

  /** The next line that is neither empty nor a comment; `undefined` after the last. */
  next(): WalkedLine | undefined {
    const content = this.#skipEmpty()
    if (content === undefined) return undefined
    this.#number++
    return this.#read(this.#at, content)
  }

  /** Goes to the next line with content. @returns where it begins */
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

  /** Where a line's content begins; `undefined` if it is empty or a comment. */
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
   * Where an unreadable line ends. One that is too large ends after its strings, whose contents are
   * not lines. Any other ends at its first line break, so that an unclosed quote does not affect
   * its neighbours. Either may cost the body's length once more, at most.
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

  /** Where the line ends that continues at a position, after its strings. */
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

  /** After the closing quote of a string; `undefined` if none does, judging by what follows it. */
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

/** Turns lines into measurements. */
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

  /** @returns whether it has a temperature or is unreadable */
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
