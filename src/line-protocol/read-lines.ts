// Turns a body of line protocol into measurements: those to store, those that cannot be stored and
// why, and points without a temperature. An unreadable line does not affect its neighbours.
//
// A body is counted first, and refused whole if it exceeds a limit. Then it is read in parts, each
// after the previous one is finished, so that few measurements exist at once.

import { submissionMeasurementsMax } from '../domain/limits.ts'
import type { SubmittedMeasurement } from '../domain/measurement.ts'
import { celsiusOf, mayBeThousandths } from '../domain/temperature-unit.ts'
import type { TemperatureUnit } from '../domain/temperature-unit.ts'
import { limitLines, limitTemperatures } from './count-lines.ts'
import { aliasOf, eventIdOf } from './identity.ts'
import { linesOf, PART_BYTES_MAX, shownName } from './line.ts'
import type { Line, LineWalk, WalkedLine } from './line.ts'
import type { Field, Point } from './point.ts'
import { pointTime } from './point-time.ts'
import type { PointTime } from './point-time.ts'
import { UNIT } from './series.ts'
import type { Series, SeriesMemory, TemperatureField } from './series.ts'
import { numberIn } from './temperature-value.ts'

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
  /** Where in the line, or of which field. */
  readonly place: string
  /** Whether the line exceeds a limit for lines. */
  readonly isTooLarge: boolean
}

/** The reason, and where it is. */
export function reasonOf({ reason, place }: Pick<RefusedLine, 'reason' | 'place'>): string {
  return place === '' ? reason : `${place}: ${reason}`
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
  /** Whether it has a field for a temperature, which says that there is none now. */
  readonly isBlank: boolean
}

/** A temperature of a point; its value is `undefined` if it is no number. */
interface FoundTemperature {
  readonly at: number
  readonly key: string
  readonly value: number | undefined
  readonly field: TemperatureField
}

/** What the temperatures of a point share. */
interface OfPoint {
  readonly time: PointTime | null
  readonly unit: TemperatureUnit | 'unclear'
  /** What the point calls its sensor. */
  readonly named: string | undefined
}

/** Other work runs after this many lines. */
const PART_LINES_MAX = 1_000
const CELSIUS_MIN = -273.15
const CELSIUS_MAX = 10_000
const OUTSIDE = `outside ${CELSIUS_MIN} to ${CELSIUS_MAX} degrees Celsius`

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
  const { text, walk } = linesOf(body, rules.series)
  const lineCount = limitLines(text)
  await limitTemperatures(body, rules.series.isAnyName, walk, letOthers)
  const parts = readParts(new PartReader(walk(), rules.unitNs), letOthers)
  return { lineCount, [Symbol.asyncIterator]: () => parts }
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
    const { found, units, isBlank, hasText } = temperaturesOf(point)
    if (found.length === 0) {
      this.#skipped.push({ line, point, isBlank })
      return false
    }
    const { series, fields, time: text } = point
    const time = text === undefined ? null : pointTime(text, this.#unitNs)
    if (time === undefined) {
      const reason = 'time outside range'
      this.#refused.push({ line, fields: null, reason, place: '', isTooLarge: false })
      return true
    }
    const named = hasText ? aliasOf(series, fields) : series.alias
    const ofPoint = { time, unit: series.unitBeside(units), named }
    for (const temperature of found) this.#readTemperature(line, temperature, ofPoint)
    return true
  }

  #readTemperature(
    line: Line,
    { at, key, value, field }: FoundTemperature,
    { time, unit, named }: OfPoint,
  ): void {
    if (unit === 'unclear') {
      return this.#refuse(line, at, key, 'in a unit that is not clear: °C, °F or K')
    }
    if (value === undefined) return this.#refuse(line, at, key, 'not a number')
    const tempCelsius = celsiusOf(value, field.unit ?? unit)
    if (!(tempCelsius >= CELSIUS_MIN && tempCelsius <= CELSIUS_MAX)) {
      const areThousandths = mayBeThousandths(tempCelsius)
      const reason = areThousandths ? `${OUTSIDE}: is it in thousandths of a degree?` : OUTSIDE
      return this.#refuse(line, at, key, reason)
    }
    const alias = named ?? field.alias
    const { serialNumber, head } = field
    const measuredAtMs = time && time.measuredAtMs
    const eventId = time && eventIdOf(head, time.nanoseconds, value)
    const reading = { eventId, serialNumber, tempCelsius, measuredAtMs }
    const measurement = alias === undefined ? reading : { ...reading, alias }
    const readings = time === null ? this.#unkeyed : this.#keyed
    readings.push({ line, field: at, measurement })
  }

  /** Each line once, with the reason of its first field. */
  #refuse(line: Line, field: number, key: string, reason: string): void {
    const last = this.#refused.at(-1)
    if (last?.line === line) last.fields?.push(field)
    else {
      const place = shownName(key)
      this.#refused.push({ line, fields: [field], reason, place, isTooLarge: false })
    }
  }
}

/** The temperatures of a point, with what it says of them. */
function temperaturesOf({ series, fields }: Point<Series>) {
  const found: FoundTemperature[] = []
  const units: Field[] = []
  let isBlank = false
  let hasText = false
  // Twice as fast as the iterator of their entries.
  for (let at = 0; at < fields.length; at++) {
    const { key, value: sent } = fields[at]!
    if (typeof sent === 'string') hasText = true
    const field = series.field(key)
    if (field === undefined) continue
    if (field === UNIT) {
      units.push(fields[at]!)
      continue
    }
    const value = numberIn(sent)
    if (value === undefined && isStateText(key, sent)) continue
    if (value === null) isBlank = true
    else found.push({ at, key, value, field })
  }
  return { found, units, isBlank, hasText }
}

/** A state that is no number may be of anything, such as a switch. */
function isStateText(key: string, value: Field['value']): boolean {
  return typeof value === 'string' && key.toLowerCase() === 'state'
}
