// ASCII text and numbers written directly as bytes, without an intermediate string: for values
// written hundreds of thousands of times a second.

const DIGIT_ZERO = 48
const MINUS = 45
const POINT = 46

/**
 * Most temperatures have no more decimals. For numbers with many digits, `String` may round
 * differently.
 */
const DECIMALS = { digits: 6, scale: 1_000_000, scaledMax: 2 ** 31 - 1 }

/** @param value an integer from 0 to 2^53 */
export function digitsOf(value: number): number {
  let digits = 1
  for (let above = 10; above <= value; above *= 10) digits++
  return digits
}

/**
 * Writes a number with that many digits, with leading zeros.
 *
 * @param value an integer from 0 to 2^53
 * @returns its end
 */
export function writeDigits(bytes: Buffer, at: number, value: number, digits: number): number {
  let rest = value
  for (let place = at + digits - 1; place >= at; place--) {
    const tens = Math.floor(rest / 10)
    bytes[place] = DIGIT_ZERO + rest - tens * 10
    rest = tens
  }
  return at + digits
}

/** @returns its end */
export function writeAscii(bytes: Buffer, start: number, text: string): number {
  for (let at = 0; at < text.length; at++) bytes[start + at] = text.charCodeAt(at)
  return start + text.length
}

/**
 * Writes a finite number as `String` does, in at most 25 bytes.
 *
 * @returns its end
 */
export function writeNumber(bytes: Buffer, start: number, value: number): number {
  const { digits, scale, scaledMax } = DECIMALS
  const scaled = Math.round(value * scale)
  if (scaled / scale !== value || Math.abs(scaled) > scaledMax) {
    return writeAscii(bytes, start, String(value))
  }
  let end = start
  if (scaled < 0) bytes[end++] = MINUS
  const whole = Math.floor(Math.abs(scaled) / scale)
  end = writeDigits(bytes, end, whole, digitsOf(whole))
  let decimals = Math.abs(scaled) - whole * scale
  if (decimals === 0) return end
  bytes[end++] = POINT
  let width = digits
  for (; decimals % 10 === 0; width--) decimals /= 10
  return writeDigits(bytes, end, decimals, width)
}
