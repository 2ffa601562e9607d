// Skips JSON in its bytes: whether it is JSON, and where it ends, without building any value. It
// takes a few nanoseconds per byte whatever the bytes are, and one bit of memory per open list or
// object.
//
// Each function takes the start of something and returns the position after its end. The bytes are
// valid UTF-8. All throw NotJson.

export const [QUOTE, COMMA, COLON] = [34, 44, 58] as const
export const [LIST_START, LIST_END, OBJECT_START, OBJECT_END] = [91, 93, 123, 125] as const

const [TAB, LINE_FEED, CARRIAGE_RETURN, SPACE] = [9, 10, 13, 32] as const
const [PLUS, MINUS, POINT, ZERO, NINE, BACKSLASH] = [43, 45, 46, 48, 57, 92] as const
const [LOWER_E, UPPER_TO_LOWER] = [101, 32] as const

const BYTE_ORDER_MARK = [...Buffer.from('\uFEFF')]

/** Thrown where bytes are not JSON. */
export class NotJson extends SyntaxError {
  /** The first byte that cannot be there; behind the last one where more is missing. */
  readonly at: number
  readonly isAfterEnd: boolean

  /** @param isAfterEnd whether what is before it is JSON */
  constructor(at: number, isAfterEnd = false) {
    super('this is not JSON')
    this.at = at
    this.isAfterEnd = isAfterEnd
  }
}

/** By the byte after a backslash: the length of the escape, 0 if it is not one. */
const ESCAPE_BYTES = Uint8Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte)
  if (character === 'u') return 6
  return '"\\/bfnrt'.includes(character) ? 2 : 0
})

const IS_HEX = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[0-9A-Fa-f]/.test(String.fromCharCode(byte)) ? 1 : 0,
)

const WORDS = ['true', 'false', 'null']

/** Of a byte order mark, which is no part of the JSON behind it. */
export function markBytes(bytes: Buffer): number {
  const hasMark = BYTE_ORDER_MARK.every((byte, at) => byte === bytes[at])
  return hasMark ? BYTE_ORDER_MARK.length : 0
}

export function skipSpace(bytes: Buffer, start: number): number {
  let at = start
  while (isSpace(bytes[at] ?? 0)) at++
  return at
}

export function passString(bytes: Buffer, start: number): number {
  if (bytes[start] !== QUOTE) fail(start)
  let at = start + 1
  for (let byte = bytes[at] ?? 0; byte !== QUOTE; byte = bytes[at] ?? 0) {
    // Also past the end.
    if (byte < SPACE) fail(at)
    at = byte === BACKSLASH ? passEscape(bytes, at) : at + 1
  }
  return at + 1
}

function passEscape(bytes: Buffer, start: number): number {
  const length = ESCAPE_BYTES[bytes[start + 1] ?? 0] ?? 0
  if (length === 0) fail(start + 1)
  for (let at = start + 2; at < start + length; at++) {
    if (IS_HEX[bytes[at] ?? 0] === 0) fail(at)
  }
  return start + length
}

function passNumber(bytes: Buffer, start: number): number {
  let at = bytes[start] === MINUS ? start + 1 : start
  at = bytes[at] === ZERO ? at + 1 : passDigits(bytes, at)
  if (bytes[at] === POINT) at = passDigits(bytes, at + 1)
  if (((bytes[at] ?? 0) | UPPER_TO_LOWER) !== LOWER_E) return at
  const hasSign = bytes[at + 1] === PLUS || bytes[at + 1] === MINUS
  return passDigits(bytes, hasSign ? at + 2 : at + 1)
}

function passDigits(bytes: Buffer, start: number): number {
  let at = start
  while (isDigit(bytes[at] ?? 0)) at++
  return at === start ? fail(at) : at
}

function passWord(bytes: Buffer, start: number): number {
  const word = WORDS.find((text) => bytes.toString('latin1', start, start + text.length) === text)
  return word === undefined ? fail(start) : start + word.length
}

/** A string, a number, or `true`, `false` or `null`. */
export function passScalar(bytes: Buffer, start: number): number {
  const first = bytes[start] ?? 0
  if (first === QUOTE) return passString(bytes, start)
  return first === MINUS || isDigit(first) ? passNumber(bytes, start) : passWord(bytes, start)
}

/**
 * Skips a list or an object with its contents, or a part of it.
 *
 * @param start where it begins, or where the previous call stopped
 * @param open empty at the beginning, and again when all of it is skipped
 * @param stopAt the call ends at the first value after this position
 */
export function passNested(bytes: Buffer, start: number, open: OpenKinds, stopAt: number): number {
  let at = start
  do {
    const first = bytes[at]
    const isObject = first === OBJECT_START
    const isNested = isObject || first === LIST_START
    const inside = isNested ? skipSpace(bytes, at + 1) : at
    const isEmpty = isNested && bytes[inside] === (isObject ? OBJECT_END : LIST_END)
    if (isNested && !isEmpty) {
      open.push(isObject)
      at = isObject ? passName(bytes, inside) : inside
    } else {
      at = passEnds(bytes, isEmpty ? inside + 1 : passScalar(bytes, at), open)
    }
  } while (open.depth > 0 && at < stopAt)
  return at
}

/** From the end of a value to the next one: past closing brackets and a comma. */
function passEnds(bytes: Buffer, start: number, open: OpenKinds): number {
  let at = start
  while (open.depth > 0) {
    at = skipSpace(bytes, at)
    const { isObject } = open
    if (bytes[at] === COMMA) {
      at = skipSpace(bytes, at + 1)
      return isObject ? passName(bytes, at) : at
    }
    if (bytes[at] !== (isObject ? OBJECT_END : LIST_END)) fail(at)
    open.pop()
    at++
  }
  return at
}

/** The name of a member and its colon. */
function passName(bytes: Buffer, start: number): number {
  const at = skipSpace(bytes, passString(bytes, start))
  return bytes[at] === COLON ? skipSpace(bytes, at + 1) : fail(at)
}

/** Which of the open lists and objects are objects, one bit each. */
export class OpenKinds {
  #bits = new Uint8Array(64)
  depth = 0

  /** Whether the innermost is an object. */
  get isObject(): boolean {
    const top = this.depth - 1
    return ((this.#bits[top >> 3] ?? 0) & (1 << (top & 7))) !== 0
  }

  push(isObject: boolean): void {
    const at = this.depth++
    if (at >> 3 === this.#bits.length) {
      const longer = new Uint8Array(2 * this.#bits.length)
      longer.set(this.#bits)
      this.#bits = longer
    }
    const bit = 1 << (at & 7)
    const others = (this.#bits[at >> 3] ?? 0) & ~bit
    this.#bits[at >> 3] = isObject ? others | bit : others
  }

  pop(): void {
    this.depth--
  }
}

function isSpace(byte: number): boolean {
  if (byte > SPACE) return false
  return byte === SPACE || byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === TAB
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE
}

function fail(at: number): never {
  throw new NotJson(at)
}
