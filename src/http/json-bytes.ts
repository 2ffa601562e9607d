// JSON written straight as bytes, for the one answer that is made hundreds of thousands of times a
// second: making its objects and its text first cost more than everything else about it.

import { MINUTE_MS, SECOND_MS, formatInstant } from '../domain/time.ts'
import type { EpochMs } from '../domain/time.ts'

const BYTES_FIRST = 64 * 1024
const DIGIT_ZERO = 48
const QUOTE = 34
const BACKSLASH = 92
const FIRST_PRINTABLE = 32
const LAST_PRINTABLE = 126

/** Of one UTF-16 code unit. */
const UTF8_BYTES_MAX = 3

/** `00.000Z`: what follows the minute in an instant. */
const SECONDS_CHARACTERS = 7

export class JsonBytes {
  #bytes = Buffer.allocUnsafeSlow(BYTES_FIRST)
  #length = 0
  #minute = NaN
  /** Of an instant in that minute, what stands before its seconds. */
  #minuteText = ''

  /** A copy of what was written; the next is written from the start. */
  take(): Buffer {
    const taken = Buffer.allocUnsafeSlow(this.#length)
    this.#bytes.copy(taken, 0, 0, this.#length)
    this.#length = 0
    return taken
  }

  /** Text as it is: ASCII alone. */
  writeAscii(text: string): void {
    this.#reserve(text.length)
    let at = this.#length
    for (let place = 0; place < text.length; place++) this.#bytes[at++] = text.charCodeAt(place)
    this.#length = at
  }

  /** Bytes as they are. */
  writeBytes(bytes: Uint8Array, start: number, stop: number): void {
    this.#reserve(stop - start)
    let at = this.#length
    for (let place = start; place < stop; place++) this.#bytes[at++] = bytes[place] ?? 0
    this.#length = at
  }

  /** @param value from 0 to 2^53 */
  writeInteger(value: number): void {
    let digits = 1
    for (let above = 10; above <= value; above *= 10) digits++
    this.#reserve(digits)
    this.#length += digits
    let rest = value
    for (let at = this.#length - 1; digits > 0; at--, digits--) {
      const tens = Math.floor(rest / 10)
      this.#bytes[at] = DIGIT_ZERO + rest - tens * 10
      rest = tens
    }
  }

  /** As `formatInstant` has it, without quotes. */
  writeInstant(atMs: EpochMs): void {
    const minute = Math.floor(atMs / MINUTE_MS)
    if (minute !== this.#minute) {
      this.#minuteText = formatInstant(atMs).slice(0, -SECONDS_CHARACTERS)
      this.#minute = minute
    }
    this.writeAscii(this.#minuteText)
    const ofMinuteMs = atMs - minute * MINUTE_MS
    const seconds = Math.floor(ofMinuteMs / SECOND_MS)
    const ofSecondMs = ofMinuteMs - seconds * SECOND_MS
    this.#writeDigits(seconds, 10)
    this.writeAscii('.')
    this.#writeDigits(ofSecondMs, 100)
    this.writeAscii('Z')
  }

  /** Any value, at the usual cost. */
  writeJson(value: unknown): void {
    const text = JSON.stringify(value)
    this.#reserve(text.length * UTF8_BYTES_MAX)
    this.#length += this.#bytes.write(text, this.#length)
  }

  /** A string as JSON, with its quotes. */
  writeString(text: string): void {
    this.#reserve(text.length + 2)
    const start = this.#length
    let at = start
    this.#bytes[at++] = QUOTE
    for (let place = 0; place < text.length; place++) {
      const code = text.charCodeAt(place)
      const isPlain = code >= FIRST_PRINTABLE && code <= LAST_PRINTABLE
      if (!isPlain || code === QUOTE || code === BACKSLASH) return this.writeJson(text)
      this.#bytes[at++] = code
    }
    this.#bytes[at++] = QUOTE
    this.#length = at
  }

  #writeDigits(value: number, firstWeight: number): void {
    this.#reserve(3)
    let rest = value
    for (let weight = firstWeight; weight >= 1; weight /= 10) {
      const digit = Math.floor(rest / weight)
      this.#bytes[this.#length++] = DIGIT_ZERO + digit
      rest -= digit * weight
    }
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes
    if (needed <= this.#bytes.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2))
    this.#bytes.copy(grown, 0, 0, this.#length)
    this.#bytes = grown
  }
}
