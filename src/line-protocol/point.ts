// One point of InfluxDB's line protocol:
//
//   measurement,tag=value,… field=value,… time
//
// Texts are read as one character per byte (latin1), so that they compare and hash like their
// bytes; `decodeText` makes them readable. Only string fields may contain line breaks.
//
// Limits apply while a line is read: nothing beyond `lineBytesMax` is read, and no tag or field
// beyond those a line may have is created.

import { lineBytesMax, lineFieldsMax, lineTagsMax, numberCharactersMax } from '../domain/limits.ts'

/** What the points of a series share, unescaped, one character per byte. */
export interface SeriesKey {
  readonly measurement: string
  /** Ordered by the bytes of their keys, each key once. */
  readonly tags: readonly Tag[]
}

/** The contents of a point, unescaped, one character per byte. */
export interface Point<Series extends SeriesKey = SeriesKey> {
  readonly series: Series
  readonly fields: readonly Field[]
  /** As sent; `undefined` if it has none. */
  readonly time: string | undefined
}

export interface Tag {
  readonly key: string
  readonly value: string
}

export interface Field {
  readonly key: string
  readonly value: number | string | Bare
}

/** A value without quotes that is no number, such as `true`, `C` or `NaN`. */
export class Bare {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  toString(): string {
    return this.#text
  }
}

/** Where the fault in a line is; positions in the text that is read. */
interface FaultPlace {
  readonly at: number
  /** How far the line was read. */
  readonly readTo: number
  /** The name of the field that is at fault. */
  readonly field?: string | undefined
  /** Whether the line exceeds a limit for lines. */
  readonly isTooLarge?: boolean
  /** The start of a string that is not closed, at least within the longest line. */
  readonly openString?: number
}

/**
 * The fault in a line. Thrown, but no Error: to note where it was found takes several times as long
 * as to read a short line.
 */
export class LineFault {
  readonly reason: string
  readonly place: FaultPlace

  constructor(reason: string, place: FaultPlace) {
    this.reason = reason
    this.place = place
  }
}

/** Why a line of more bytes cannot be stored. */
export const TOO_LONG = `more than ${lineBytesMax} bytes`

const FLOAT = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/
const INTEGER = /^-?\d+i$/
const UNSIGNED = /^\d+u$/
const TIME = /^-?\d{1,19}$/
const INTEGER_MAX = 2n ** 63n
const UNSIGNED_MAX = 2n ** 64n
/** What makes it uncertain where a value ends. */
const UNCERTAIN = /["'`\\=()<>[\]{}]/

const TAB = 9
const NEW_LINE = 10
const RETURN = 13
const QUOTE = 34
const COMMA = 44
const EQUALS = 61
const BACKSLASH = 92

// The ends of a point's parts, as bits.
const AT_LINE_END = 1
const AT_BLANK = 2
const AT_TAB = 4
const AT_COMMA = 8
const AT_EQUALS = 16
/** By character code. */
const ENDS = new Uint8Array(256)
ENDS[NEW_LINE] = AT_LINE_END
ENDS[RETURN] = AT_LINE_END
ENDS[0x20] = AT_BLANK
ENDS[TAB] = AT_TAB
ENDS[COMMA] = AT_COMMA
ENDS[EQUALS] = AT_EQUALS
const OF_NAME = AT_COMMA | AT_BLANK
const OF_KEY = AT_EQUALS | AT_COMMA | AT_BLANK
const OF_VALUE = AT_COMMA | AT_BLANK | AT_TAB
const OF_TIME = AT_BLANK | AT_TAB

/** Decodes a text, whose bytes are UTF-8. */
export function decodeText(text: string): string {
  // oxlint-disable-next-line no-control-regex -- every byte of ASCII is itself in UTF-8
  return /^[\x00-\x7f]*$/.test(text) ? text : Buffer.from(text, 'latin1').toString('utf8')
}

/** A copy that does not keep the whole body in memory. */
export function copyText(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}

/** Known series, by their keys as written. */
export interface KnownSeries<Series extends SeriesKey> {
  find(written: string): Series | undefined
  /** @param readKey of this text or a copy of it */
  add(written: string, readKey: (written: string) => SeriesKey): Series
}

/** Reads points from a text. */
export class PointReader<Series extends SeriesKey> {
  readonly #text: string
  readonly #known: KnownSeries<Series>
  /** Where the text begins in the text that faults refer to. */
  readonly #offset: number
  #at = 0
  /** The field that is being read. */
  #field: string | undefined
  /** Where the text ends, or the longest line from the start of the point. */
  #stop = 0

  constructor(text: string, known: KnownSeries<Series>, offset = 0) {
    this.#text = text
    this.#known = known
    this.#offset = offset
    this.#stop = text.length
  }

  /** The end of the last point's line: a line break or the end of the text. */
  get end(): number {
    return this.#at
  }

  /**
   * Reads the point that begins at a position.
   *
   * @throws LineFault
   */
  read(start: number): Point<Series> {
    this.#at = start
    this.#stop = Math.min(this.#text.length, start + lineBytesMax)
    const written = this.#take(AT_BLANK)
    const series = this.#known.find(written) ?? this.#addSeries(written, start)
    this.#skipBlanks()
    const fields = this.#readFields()
    this.#skipBlanks()
    const time = this.#take(OF_TIME) || undefined
    if (time !== undefined && !TIME.test(time)) this.#fail('bad timestamp')
    this.#skipBlanks()
    if (!this.#isAtEnd()) this.#fail('text after the timestamp')
    if (this.#code() === RETURN) this.#at++
    return { series, fields, time }
  }

  #addSeries(written: string, start: number): Series {
    // The blank after it says that a carriage return at its end is part of it.
    return this.#known.add(written, (text) =>
      new PointReader(`${text} `, this.#known, start).#readKey(),
    )
  }

  #readKey(): SeriesKey {
    const measurement = this.#take(OF_NAME).replaceAll(/\\([, ])/g, '$1')
    if (measurement === '') this.#fail('missing measurement')
    return { measurement, tags: this.#readTags() }
  }

  #readTags(): readonly Tag[] {
    const tags: Tag[] = []
    while (this.#code() === COMMA) {
      if (tags.length === lineTagsMax) this.#failTooLarge(`more than ${lineTagsMax} tags`)
      this.#at++
      const key = this.#take(OF_KEY)
      if (key === '' || this.#code() !== EQUALS) this.#fail('missing tag key or value')
      this.#at++
      const value = this.#take(OF_KEY)
      if (this.#code() === EQUALS) this.#fail('invalid tag format')
      if (value === '') this.#fail('missing tag value')
      tags.push({ key: unescape(key), value: unescape(value) })
    }
    tags.sort((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)))
    if (tags.some(({ key }, at) => key === tags[at + 1]?.key)) this.#fail('duplicate tags')
    return tags
  }

  #readFields(): readonly Field[] {
    const fields: Field[] = []
    do {
      if (fields.length === lineFieldsMax) this.#failTooLarge(`more than ${lineFieldsMax} fields`)
      if (fields.length > 0) this.#at++
      this.#field = undefined
      const start = this.#at
      const key = this.#take(OF_KEY)
      if (key === '' || this.#code() !== EQUALS) this.#fail('missing fields', start)
      this.#at++
      this.#field = key
      fields.push({ key: unescape(key), value: this.#readValue() })
    } while (this.#code() === COMMA)
    this.#field = undefined
    return fields
  }

  #readValue(): Field['value'] {
    if (this.#code() === QUOTE) return this.#readString()
    const start = this.#at
    const text = this.#take(OF_VALUE)
    const number = numberOf(text)
    if (number !== undefined) return number
    if (UNCERTAIN.test(text)) this.#fail('invalid field value', start)
    return new Bare(text)
  }

  #readString(): string {
    const start = this.#at + 1
    const end = closingQuote(this.#text, start, this.#stop)
    this.#at = Math.min(end + 1, this.#stop)
    if (end >= this.#stop) {
      this.#throw('unbalanced quotes', { at: start - 1, openString: start })
    }
    if (!mayFollowString(this.#text, this.#at)) this.#fail('text after a string')
    return this.#text.slice(start, end).replaceAll(/\\(["\\])/g, '$1')
  }

  /** The text before the next unescaped one of these ends, or the end of the line. */
  #take(ends: number): string {
    const text = this.#text
    const start = this.#at
    let at = start
    for (; at < this.#stop; at++) {
      const end = ENDS[text.charCodeAt(at)] ?? 0
      if (end === 0) continue
      const isEscaped = at > start && text.charCodeAt(at - 1) === BACKSLASH
      if ((end & ends) !== 0 && !isEscaped) break
      if (end === AT_LINE_END && isLineEnd(text, at)) break
    }
    this.#at = at
    this.#checkLength()
    return text.slice(start, at)
  }

  #skipBlanks(): void {
    while (this.#at < this.#stop && (ENDS[this.#code()] ?? 0) & OF_TIME) this.#at++
    this.#checkLength()
  }

  #checkLength(): void {
    if (this.#at >= this.#stop && !this.#isAtEnd()) this.#failTooLarge(TOO_LONG)
  }

  #isAtEnd(): boolean {
    return isLineEnd(this.#text, this.#at)
  }

  /** NaN at the end of the text. */
  #code(): number {
    return this.#text.charCodeAt(this.#at)
  }

  #fail(reason: string, at = this.#at): never {
    this.#throw(reason, { at })
  }

  #failTooLarge(reason: string): never {
    this.#throw(reason, { at: this.#at, isTooLarge: true })
  }

  #throw(reason: string, { at, ...place }: Omit<FaultPlace, 'readTo' | 'field'>): never {
    const readTo = this.#offset + this.#at
    // oxlint-disable-next-line typescript/only-throw-error -- an Error costs more than its line
    throw new LineFault(reason, { ...place, at: this.#offset + at, readTo, field: this.#field })
  }
}

/** The quote that closes the string starting at a position; not before `stop`: there is none. */
export function closingQuote(text: string, start: number, stop: number): number {
  let at = start
  while (at < stop && text.charCodeAt(at) !== QUOTE) {
    at += text.charCodeAt(at) === BACKSLASH ? 2 : 1
  }
  return at
}

/** Whether the character at a position may follow a string. */
export function mayFollowString(text: string, at: number): boolean {
  return isLineEnd(text, at) || ', \t'.includes(text[at] ?? '')
}

function isLineEnd(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  if (code === NEW_LINE || at >= text.length) return true
  if (code !== RETURN) return false
  const next = text[at + 1]
  return next === undefined || next === '\n'
}

function unescape(text: string): string {
  return text.includes('\\') ? text.replaceAll(/\\([,= ])/g, '$1') : text
}

/**
 * A decimal number without a suffix; `undefined` for anything else.
 *
 * @param text of at most `numberCharactersMax`
 */
export function floatOf(text: string): number | undefined {
  if (!FLOAT.test(text)) return undefined
  const number = Number(text)
  return Number.isFinite(number) ? number : undefined
}

function numberOf(text: string): number | undefined {
  if (text.length > numberCharactersMax) return undefined
  const float = floatOf(text)
  if (float !== undefined) return float
  if (INTEGER.test(text)) {
    const integer = BigInt(text.slice(0, -1))
    return integer >= -INTEGER_MAX && integer < INTEGER_MAX ? Number(integer) : undefined
  }
  if (!UNSIGNED.test(text)) return undefined
  const integer = BigInt(text.slice(0, -1))
  return integer < UNSIGNED_MAX ? Number(integer) : undefined
}
