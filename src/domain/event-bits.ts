// The bits of an event id, by which both engines know its event: the 16 bytes of a canonical UUID
// of version 1 to 7, and for any other text 128 bits of its SHA-256, marked as a UUID of version 8
// so that the two never meet.

import { hash } from 'node:crypto'

export const EVENT_BITS_WORDS = 4

const UUID_LENGTH = 36
const VERSION_AT = 14
const VARIANT_AT = 19
const HASHED_VERSION = 0x80

/** The value of a hexadecimal digit by its character code; −1 for other characters. */
const DIGITS = new Int8Array(128).fill(-1)
for (let value = 0; value < 16; value++) DIGITS[value.toString(16).charCodeAt(0)] = value

const DASH = 45

/** Writes the bits of an event id as four words at `offset`. */
export function writeEventBits(eventId: string, words: Uint32Array, offset: number): void {
  if (writeUuid(eventId, words, offset)) return
  // Hashing to latin1 text takes a quarter of the time of hashing to a Buffer.
  const digest = hash('sha256', eventId, 'binary')
  for (let word = 0; word < EVENT_BITS_WORDS; word++) {
    const at = word * 4
    const third = digest.charCodeAt(at + 2)
    const marked = word === 1 ? (third & 0x0f) | HASHED_VERSION : third
    words[offset + word] =
      digest.charCodeAt(at) |
      (digest.charCodeAt(at + 1) << 8) |
      (marked << 16) |
      (digest.charCodeAt(at + 3) << 24)
  }
}

/**
 * @returns whether it is a canonical UUID of version 1 to 7; otherwise the words are meaningless
 */
function writeUuid(text: string, words: Uint32Array, offset: number): boolean {
  if (text.length !== UUID_LENGTH || !hasUuidMarks(text)) return false
  const b0 = byteAt(text, 0) | (byteAt(text, 2) << 8)
  const b1 = byteAt(text, 4) | (byteAt(text, 6) << 8)
  const b2 = byteAt(text, 9) | (byteAt(text, 11) << 8)
  const b3 = byteAt(text, 14) | (byteAt(text, 16) << 8)
  const b4 = byteAt(text, 19) | (byteAt(text, 21) << 8)
  const b5 = byteAt(text, 24) | (byteAt(text, 26) << 8)
  const b6 = byteAt(text, 28) | (byteAt(text, 30) << 8)
  const b7 = byteAt(text, 32) | (byteAt(text, 34) << 8)
  words[offset] = b0 | (b1 << 16)
  words[offset + 1] = b2 | (b3 << 16)
  words[offset + 2] = b4 | (b5 << 16)
  words[offset + 3] = b6 | (b7 << 16)
  return (b0 | b1 | b2 | b3 | b4 | b5 | b6 | b7) >= 0
}

function hasUuidMarks(text: string): boolean {
  const hasDashes =
    text.charCodeAt(8) === DASH &&
    text.charCodeAt(13) === DASH &&
    text.charCodeAt(18) === DASH &&
    text.charCodeAt(23) === DASH
  const version = digitAt(text, VERSION_AT)
  return hasDashes && version >= 1 && version <= 7 && digitAt(text, VARIANT_AT) >> 2 === 2
}

/** Two digits as a byte; negative if one is not a digit. */
function byteAt(text: string, at: number): number {
  return (digitAt(text, at) << 4) | digitAt(text, at + 1)
}

function digitAt(text: string, at: number): number {
  return DIGITS[text.charCodeAt(at)] ?? -1
}
