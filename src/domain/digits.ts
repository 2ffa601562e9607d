// Numbers as decimal digits in bytes, without a string in between: for what is written hundreds of
// thousands of times a second.

const DIGIT_ZERO = 48

/** @param value an integer from 0 to 2^53 */
export function digitsOf(value: number): number {
  let digits = 1
  for (let above = 10; above <= value; above *= 10) digits++
  return digits
}

/**
 * Writes a number in so many digits, with leading zeros.
 *
 * @param value an integer from 0 to 2^53
 * @returns where it ends
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
