// Numbers and times of a measurement, read from the bytes of a JSON text directly into a column.
// Each reader returns the end of the value, or `NOT_READ` if it does not have the everyday form,
// valid or not: then the whole body goes through JSON.parse and the schema. So a value read here
// must be the one they would read, and within the limits of the same schema.

import commonSchema from '../../../schemas/common.json' with { type: 'json' }
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../domain/time.ts'
import { floorToWindow, parseInstant } from '../../domain/time.ts'
import type { WideBytes } from './wide-bytes.ts'

export const NOT_READ = -1

export const QUOTE = 34

const { minimum: CELSIUS_MIN, maximum: CELSIUS_MAX } = commonSchema.$defs.celsius

const SPACE = 32
const TAB = 9
const LINE_FEED = 10
const CARRIAGE_RETURN = 13
const MINUS = 45
const POINT = 46
const DIGIT_ZERO = 48
const COLON = 58
const UPPER_Z = 90

/** An integer of this many digits is below 2^53, so a double holds it exactly. */
const EXACT_DIGITS_MAX = 15
const POWERS_OF_TEN = Array.from({ length: EXACT_DIGITS_MAX + 1 }, (_, at) => Number(`1e${at}`))

/** More digits than any double needs to be distinguished from its neighbours. */
const NUMBER_BYTES_MAX = 32

/** Positions in a time, from its quote on. The times of one day are the same up to the hour. */
const HOUR_AT = 12
const MINUTE_AT = HOUR_AT + 3
const SECOND_AT = MINUTE_AT + 3
const FRACTION_AT = SECOND_AT + 2
const FRACTION_DIGITS_MAX = 9
const INSTANT_BYTES_MAX = 35

/** The end of white space that may begin at `start`. */
export function skipSpace(bytes: Buffer, start: number): number {
  let at = start
  while (isSpace(bytes[at] ?? 0)) at++
  return at
}

function isSpace(byte: number): boolean {
  if (byte > SPACE) return false
  return byte === SPACE || byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === TAB
}

/**
 * Reads a temperature.
 *
 * Its digits make an integer that is divided by a power of ten. Both are exact up to 15 digits, and
 * the division gives the double nearest to the true quotient, which is the value of the text.
 * Longer numbers are left to `Number`.
 */
export function scanCelsius(
  bytes: Buffer,
  start: number,
  column: Float64Array,
  index: number,
): number {
  const isNegative = bytes[start] === MINUS
  const first = isNegative ? start + 1 : start
  let at = first
  let integer = 0
  for (let digit = digitAt(bytes, at); digit >= 0; digit = digitAt(bytes, ++at)) {
    integer = integer * 10 + digit
  }
  const whole = at - first
  if (whole === 0 || (whole > 1 && bytes[first] === DIGIT_ZERO)) return NOT_READ
  let decimals = 0
  if (bytes[at] === POINT) {
    const point = at++
    for (let digit = digitAt(bytes, at); digit >= 0; digit = digitAt(bytes, ++at)) {
      integer = integer * 10 + digit
    }
    decimals = at - point - 1
    if (decimals === 0) return NOT_READ
  }
  if (at - first > NUMBER_BYTES_MAX) return NOT_READ
  const isExact = whole + decimals <= EXACT_DIGITS_MAX
  const size = isExact
    ? integer / (POWERS_OF_TEN[decimals] ?? NaN)
    : Number(bytes.toString('latin1', first, at))
  // −0 is 0.
  const celsius = isNegative ? 0 - size : size
  if (!(celsius >= CELSIUS_MIN && celsius <= CELSIUS_MAX)) return NOT_READ
  column[index] = celsius
  return at
}

/** Reads times. Remembers the day of the last one, because most others are on the same day. */
export class InstantScanner {
  /** Where a time of the remembered day is in the body; `NOT_READ` if there is none yet. */
  #dayAt = NOT_READ
  #dayMs: number = NaN

  begin(): void {
    this.#dayAt = NOT_READ
  }

  /** Reads the time whose quote is at `start`. */
  scan(body: WideBytes, start: number, column: Float64Array, index: number): number {
    const isOfDay = this.#dayAt !== NOT_READ && body.equals(start, body, this.#dayAt, HOUR_AT)
    const stop = isOfDay ? this.#scanOfDay(body.bytes, start, column, index) : NOT_READ
    return stop === NOT_READ ? this.#scanAny(body.bytes, start, column, index) : stop
  }

  /** A time of the remembered day that ends with `Z`. */
  #scanOfDay(bytes: Buffer, start: number, column: Float64Array, index: number): number {
    const hour = twoDigitsAt(bytes, start + HOUR_AT)
    const minute = twoDigitsAt(bytes, start + MINUTE_AT)
    const second = twoDigitsAt(bytes, start + SECOND_AT)
    const hasColons =
      bytes[start + MINUTE_AT - 1] === COLON && bytes[start + SECOND_AT - 1] === COLON
    // A comparison with NaN is false.
    if (!(hour <= 23 && minute <= 59 && second <= 59 && hasColons)) return NOT_READ
    let at = start + FRACTION_AT
    let ms = 0
    if (bytes[at] === POINT) {
      const point = at++
      let weight = 100
      for (let digit = digitAt(bytes, at); digit >= 0; digit = digitAt(bytes, ++at)) {
        ms += digit * weight
        weight = weight === 1 ? 0 : weight / 10
      }
      const digits = at - point - 1
      if (digits === 0 || digits > FRACTION_DIGITS_MAX) return NOT_READ
    }
    if (bytes[at] !== UPPER_Z || bytes[at + 1] !== QUOTE) return NOT_READ
    const ofDayMs = hour * HOUR_MS + minute * MINUTE_MS + second * SECOND_MS + ms
    column[index] = this.#dayMs + ofDayMs
    return at + 2
  }

  /** Any time. `parseInstant` accepts nothing that is written with an escape. */
  #scanAny(bytes: Buffer, start: number, column: Float64Array, index: number): number {
    if (bytes[start] !== QUOTE) return NOT_READ
    const text = bytes.toString('latin1', start + 1, start + 1 + INSTANT_BYTES_MAX + 1)
    const length = text.indexOf('"')
    const atMs = parseInstant(text.slice(0, Math.max(0, length)))
    if (atMs === undefined) return NOT_READ
    if (text[length - 1] === 'Z') {
      this.#dayAt = start
      this.#dayMs = floorToWindow(atMs, DAY_MS)
    }
    column[index] = atMs
    return start + length + 2
  }
}

/** The digit at that place; a negative number if there is no digit. */
function digitAt(bytes: Buffer, at: number): number {
  const digit = (bytes[at] ?? 0) - DIGIT_ZERO
  return digit <= 9 ? digit : NOT_READ
}

/** The number formed by two digits; NaN if there are no two digits. */
function twoDigitsAt(bytes: Buffer, at: number): number {
  const tens = digitAt(bytes, at)
  const ones = digitAt(bytes, at + 1)
  return tens >= 0 && ones >= 0 ? tens * 10 + ones : NaN
}
