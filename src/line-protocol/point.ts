// One point of InfluxDB's line protocol:
//
//   measurement,tag=value,… field=value,… time
//
// Texts are read as one character a byte (latin1), so that they compare and hash as their bytes do;
// `decodeText` makes them readable. A string field may contain line breaks, nothing else may.

/** What a point says, unescaped, one character a byte. */
export interface Point {
  readonly measurement: string
  /** By the bytes of their keys, each key once. */
  readonly tags: readonly Tag[]
  readonly fields: readonly Field[]
  /** As sent; `undefined` where it has none. */
  readonly time: string | undefined
}

export interface Tag {
  readonly key: string
  readonly value: string
}

export interface Field {
  readonly key: string
  readonly value: number | string | boolean
}

/** What is wrong with a line, and how far it was read. */
export class LineFault extends Error {
  readonly readTo: number

  constructor(message: string, readTo: number) {
    super(message)
    this.name = 'LineFault'
    this.readTo = readTo
  }
}

const FLOAT = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/
const INTEGER = /^-?\d+i$/
const UNSIGNED = /^\d+u$/
const TIME = /^-?\d{1,19}$/
const INTEGER_MAX = 2n ** 63n
const UNSIGNED_MAX = 2n ** 64n
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...['t', 'T', 'true', 'True', 'TRUE'].map((text) => [text, true] as const),
  ...['f', 'F', 'false', 'False', 'FALSE'].map((text) => [text, false] as const),
])

const BACKSLASH = '\\'

/** A text as it is meant: its bytes are UTF-8. */
export function decodeText(text: string): string {
  // oxlint-disable-next-line no-control-regex -- every byte of ASCII is itself in UTF-8
  return /^[\x00-\x7f]*$/.test(text) ? text : Buffer.from(text, 'latin1').toString('utf8')
}

/**
 * Reads the point that begins at a place of a text.
 *
 * @returns the point and where its line ends: at a line break or at the end of the text
 * @throws LineFault
 */
export function readPoint(text: string, start: number): { point: Point; end: number } {
  const reader = new PointReader(text, start)
  const point = reader.read()
  return { point, end: reader.at }
}

class PointReader {
  readonly #text: string
  at: number

  constructor(text: string, start: number) {
    this.#text = text
    this.at = start
  }

  read(): Point {
    const measurement = this.#take(', ').replaceAll(/\\([, ])/g, '$1')
    if (measurement === '') this.#fail('missing measurement')
    const tags = this.#readTags()
    this.#skipBlanks()
    const fields = this.#readFields()
    this.#skipBlanks()
    const time = this.#take(' \t') || undefined
    if (time !== undefined && !TIME.test(time)) this.#fail('bad timestamp')
    this.#skipBlanks()
    if (!this.#isAtEnd()) this.#fail('text after the timestamp')
    if (this.#text[this.at] === '\r') this.at++
    return { measurement, tags, fields, time }
  }

  #readTags(): readonly Tag[] {
    const tags: Tag[] = []
    while (this.#text[this.at] === ',') {
      this.at++
      const key = this.#take('=, ')
      if (key === '' || this.#text[this.at] !== '=') this.#fail('missing tag key or value')
      this.at++
      const value = this.#take('=, ')
      if (this.#text[this.at] === '=') this.#fail('invalid tag format')
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
      if (fields.length > 0) this.at++
      const key = this.#take('=, ')
      if (key === '' || this.#text[this.at] !== '=') this.#fail('missing fields')
      this.at++
      fields.push({ key: unescape(key), value: this.#readValue() })
    } while (this.#text[this.at] === ',')
    return fields
  }

  #readValue(): Field['value'] {
    if (this.#text[this.at] === '"') return this.#readString()
    const text = this.#take(', \t')
    const value = BOOLEANS.get(text) ?? numberOf(text)
    return value ?? this.#fail(text === '' ? 'missing field value' : 'invalid field value')
  }

  #readString(): string {
    const start = this.at + 1
    let end = start
    while (end < this.#text.length && this.#text[end] !== '"') {
      end += this.#text[end] === BACKSLASH ? 2 : 1
    }
    this.at = Math.min(end + 1, this.#text.length)
    if (end >= this.#text.length) this.#fail('unbalanced quotes')
    if (!this.#isAtEnd() && !', \t'.includes(this.#text[this.at] ?? '')) {
      this.#fail('text after a string')
    }
    return this.#text.slice(start, end).replaceAll(/\\(["\\])/g, '$1')
  }

  /** What stands before the next of these characters that no backslash escapes, or the end. */
  #take(stops: string): string {
    const start = this.at
    while (!this.#isAtEnd()) {
      const character = this.#text[this.at] ?? ''
      const isEscaped = this.at > start && this.#text[this.at - 1] === BACKSLASH
      if (!isEscaped && stops.includes(character)) break
      this.at++
    }
    return this.#text.slice(start, this.at)
  }

  #skipBlanks(): void {
    while (this.#text[this.at] === ' ' || this.#text[this.at] === '\t') this.at++
  }

  #isAtEnd(): boolean {
    const character = this.#text[this.at]
    if (character === undefined || character === '\n') return true
    if (character !== '\r') return false
    const next = this.#text[this.at + 1]
    return next === undefined || next === '\n'
  }

  #fail(message: string): never {
    throw new LineFault(message, this.at)
  }
}

function unescape(text: string): string {
  return text.includes(BACKSLASH) ? text.replaceAll(/\\([,= ])/g, '$1') : text
}

function numberOf(text: string): number | undefined {
  if (INTEGER.test(text)) {
    const integer = BigInt(text.slice(0, -1))
    return integer >= -INTEGER_MAX && integer < INTEGER_MAX ? Number(integer) : undefined
  }
  if (UNSIGNED.test(text)) {
    const integer = BigInt(text.slice(0, -1))
    return integer < UNSIGNED_MAX ? Number(integer) : undefined
  }
  const number = FLOAT.test(text) ? Number(text) : NaN
  return Number.isFinite(number) ? number : undefined
}
