// JSON written directly as bytes, for the one response that is built hundreds of thousands of times
// a second: building objects and text first would cost more than everything else about it.

import { digitsOf, writeDigits } from '../../bytes/digits.ts'
import { floorToWindow, formatInstant, MINUTE_MS, SECOND_MS } from '../../domain/time.ts'
import { WideBytes } from './wide-bytes.ts'

const BYTES_FIRST = 64 * 1024
const QUOTE = 34
const BACKSLASH = 92
const FIRST_PRINTABLE = 32
const LAST_PRINTABLE = 126

/** Per UTF-16 code unit. */
const UTF8_BYTES_MAX = 3

/** More than any instant has. */
const INSTANT_BYTES = 32
/** Positions in an instant, from its end. */
const [SECONDS_AT, MILLISECONDS_AT] = [-7, -4] as const

export class JsonBytes {
  #bytes = new WideBytes(Buffer.allocUnsafeSlow(BYTES_FIRST))
  #length = 0
  /** The last instant written, and its text. */
  #instantMs: number = NaN
  readonly #instant = new WideBytes(Buffer.alloc(INSTANT_BYTES))
  #instantLength = 0

  /** How many bytes have been written. */
  get length(): number {
    return this.#length
  }

  /** A copy of what was written; the next text starts from the beginning. */
  take(): Buffer {
    const taken = Buffer.allocUnsafeSlow(this.#length)
    this.#bytes.bytes.copy(taken, 0, 0, this.#length)
    this.#length = 0
    return taken
  }

  /** Discards what was written. */
  clear(): void {
    this.#length = 0
  }

  /** Copies the bytes from `start` to `stop` unchanged. */
  write(source: WideBytes, start = 0, stop = source.length): void {
    this.#reserve(stop - start)
    this.#bytes.copy(this.#length, source, start, stop)
    this.#length += stop - start
  }

  /** @param value from 0 to 2^53 */
  writeInteger(value: number): void {
    const digits = digitsOf(value)
    this.#reserve(digits)
    writeDigits(this.#bytes.bytes, this.#length, value, digits)
    this.#length += digits
  }

  /** In the format of `formatInstant`, without quotes. */
  writeInstant(atMs: number): void {
    if (atMs !== this.#instantMs) this.#setInstant(atMs)
    this.write(this.#instant, 0, this.#instantLength)
  }

  /** Any value, at the usual cost. */
  writeJson(value: unknown): void {
    const text = JSON.stringify(value)
    this.#reserve(text.length * UTF8_BYTES_MAX)
    this.#length += this.#bytes.bytes.write(text, this.#length)
  }

  /** A string as JSON, with its quotes. */
  writeString(text: string): void {
    this.#reserve(text.length + 2)
    const { bytes } = this.#bytes
    let at = this.#length
    bytes[at++] = QUOTE
    for (let place = 0; place < text.length; place++) {
      const code = text.charCodeAt(place)
      const isPlain = code >= FIRST_PRINTABLE && code <= LAST_PRINTABLE
      if (!isPlain || code === QUOTE || code === BACKSLASH) return this.writeJson(text)
      bytes[at++] = code
    }
    bytes[at++] = QUOTE
    this.#length = at
  }

  /** Instants of the same minute differ only from the seconds on. */
  #setInstant(atMs: number): void {
    const { bytes } = this.#instant
    const minuteMs = floorToWindow(atMs, MINUTE_MS)
    if (minuteMs !== floorToWindow(this.#instantMs, MINUTE_MS)) {
      this.#instantLength = bytes.write(formatInstant(atMs), 'latin1')
    }
    const ofMinuteMs = atMs - minuteMs
    const seconds = Math.floor(ofMinuteMs / SECOND_MS)
    writeDigits(bytes, this.#instantLength + SECONDS_AT, seconds, 2)
    writeDigits(bytes, this.#instantLength + MILLISECONDS_AT, ofMinuteMs - seconds * SECOND_MS, 3)
    this.#instantMs = atMs
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes
    if (needed <= this.#bytes.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2))
    this.#bytes.bytes.copy(grown, 0, 0, this.#length)
    this.#bytes = new WideBytes(grown)
  }
}
