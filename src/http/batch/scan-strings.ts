// Event ids and serial numbers, read directly from the bytes of a JSON text: ASCII without escapes,
// where every byte stands for itself. As in scan-values.ts, `NOT_READ` sends the whole body to
// JSON.parse.

import commonSchema from '../../../schemas/common.json' with { type: 'json' }
import { EventIdTextsWriter } from './event-id-texts.ts'
import type { EventIdTexts } from './event-id-texts.ts'
import { NOT_READ, QUOTE } from './scan-values.ts'
import { batchElementsMax } from '../body/validate.ts'
import { WORD_BYTES } from './wide-bytes.ts'
import type { WideBytes } from './wide-bytes.ts'

const { eventId: EVENT_ID, serialNumber: SERIAL_NUMBER } = commonSchema.$defs

const SPACE = 32
const BACKSLASH = 92
const ASCII_LAST = 127

/** Reads event ids as JSON texts. */
export class EventIdScanner {
  readonly #texts = new EventIdTextsWriter()

  begin(): void {
    this.#texts.clear()
  }

  /** Reads the event id whose quote is at `start`. */
  scan(body: WideBytes, start: number): number {
    const stop = stringEnd(body, start, EVENT_ID.maxLength)
    if (stop - start < EVENT_ID.minLength + 2) return NOT_READ
    this.#texts.addText(body, start, stop)
    return stop
  }

  /** The element has no event id. */
  skip(): void {
    this.#texts.add(null)
  }

  take(): EventIdTexts {
    return this.#texts.take()
  }
}

/** Reads serial numbers. A batch repeats a few, often in the same order. */
export class SerialNumberScanner {
  readonly #pattern = new RegExp(SERIAL_NUMBER.pattern, 'u')
  readonly #ordinals = new Map<string, number>()
  /** By ordinal: its place in the body, with its quotes. */
  readonly #starts = new Uint32Array(batchElementsMax)
  readonly #lengths = new Uint32Array(batchElementsMax)
  /** By ordinal: the ordinal that followed it last time. */
  readonly #followers = new Uint16Array(batchElementsMax)
  #last = 0

  begin(): void {
    this.#ordinals.clear()
    this.#followers.fill(0)
    this.#last = 0
  }

  /** Reads the serial number whose quote is at `start`, and writes its ordinal to `column`. */
  scan(body: WideBytes, start: number, column: Uint16Array, index: number): number {
    const expected = this.#followers[this.#last] ?? 0
    const length = this.#lengths[expected] ?? 0
    const earlier = this.#starts[expected] ?? 0
    const isExpected = this.#ordinals.size > 0 && body.equals(start, body, earlier, length)
    const stop = isExpected ? start + length : stringEnd(body, start, SERIAL_NUMBER.maxLength)
    const ordinal = isExpected ? expected : this.#ordinalOf(body, start, stop)
    if (ordinal === NOT_READ) return NOT_READ
    this.#followers[this.#last] = ordinal
    this.#last = ordinal
    column[index] = ordinal
    return stop
  }

  /** The distinct serial numbers by ordinal. */
  take(): readonly string[] {
    return [...this.#ordinals.keys()]
  }

  #ordinalOf(body: WideBytes, start: number, stop: number): number {
    if (stop === NOT_READ) return NOT_READ
    const serialNumber = body.bytes.toString('latin1', start + 1, stop - 1)
    const known = this.#ordinals.get(serialNumber)
    if (known !== undefined) return known
    if (!this.#pattern.test(serialNumber)) return NOT_READ
    const ordinal = this.#ordinals.size
    this.#ordinals.set(serialNumber, ordinal)
    this.#starts[ordinal] = start
    this.#lengths[ordinal] = stop - start
    return ordinal
  }
}

/** The end of the string whose quote is at `start`; `NOT_READ` if it is too long. */
function stringEnd(body: WideBytes, start: number, lengthMax: number): number {
  if (body.bytes[start] !== QUOTE) return NOT_READ
  const end = Math.min(start + 1 + lengthMax, body.length)
  let at = start + 1
  while (at + WORD_BYTES <= end && isPlainWord(body.wordAt(at))) at += WORD_BYTES
  while (at < end && isPlain(body.bytes[at] ?? 0)) at++
  return body.bytes[at] === QUOTE ? at + 1 : NOT_READ
}

/** Whether a byte stands for itself in a string. */
function isPlain(byte: number): boolean {
  return byte >= SPACE && byte <= ASCII_LAST && byte !== QUOTE && byte !== BACKSLASH
}

/**
 * The same for four bytes. A subtraction that goes below zero in a byte sets its top bit, and the
 * top bit of a non-ASCII byte is already set.
 */
function isPlainWord(word: number): boolean {
  const noQuote = (word ^ 0x22222222) - 0x01010101
  const noBackslash = (word ^ 0x5c5c5c5c) - 0x01010101
  const noControl = word - 0x20202020
  return ((word | noControl | noQuote | noBackslash) & 0x80808080) === 0
}
