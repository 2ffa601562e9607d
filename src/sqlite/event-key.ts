// The key of an event: 128 bits that stand for a user's event id, as four 32-bit words.
//
// First come the plain bits: the 16 bytes of a canonical UUID, or for any other text 128 bits of
// its SHA-256, marked as a UUID of version 8 so that the two never meet. What is stored is AES-128
// of (plain bits ⊕ AES-128 of the user's id), under two keys made with the data (event-secret.ts).
// So keys are evenly spread whatever ids a sender chooses, two users never share one, and the
// secret can turn a key back into its plain bits. Among a hundred million keys, the chance that two
// are equal is about 1 in 10^22.

import { createCipheriv, hash } from 'node:crypto'
import type { Cipheriv } from 'node:crypto'

export const KEY_WORDS = 4
const KEY_BYTES = KEY_WORDS * 4

/** Length of the secret for encrypting keys. */
export const EVENT_SECRET_BYTES = 32

/** How many encrypted user ids are cached. */
const MASKS_MAX = 10_000

const UUID_LENGTH = 36
const VERSION_AT = 14
const VARIANT_AT = 19
const HASHED_VERSION = 0x80

/** The value of a hexadecimal digit by its character code; −1 for other characters. */
const DIGITS = new Int8Array(128).fill(-1)
for (let value = 0; value < 16; value++) DIGITS[value.toString(16).charCodeAt(0)] = value

const DASH = 45

/** Writes the plain bits of an event id as four words at `offset`. */
export function writeEventId(eventId: string, words: Uint32Array, offset: number): void {
  if (writeUuid(eventId, words, offset)) return
  // Hashing to latin1 text takes a quarter of the time of hashing to a Buffer.
  const digest = hash('sha256', eventId, 'binary')
  for (let word = 0; word < KEY_WORDS; word++) {
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

/** The events of a group, whose keys are still plain. */
export interface PlainKeys {
  /** Four words each. */
  readonly keys: Uint32Array
  /** Per submission. */
  readonly userId: ArrayLike<number>
  /** Per submission: one past its last event. */
  readonly elementsEnd: ArrayLike<number>
}

export class EventKeyCipher {
  readonly #ofUsers: Cipheriv
  readonly #ofEvents: Cipheriv
  readonly #masks = new Map<number, Uint32Array>()

  constructor(secret: Uint8Array) {
    this.#ofUsers = cipherOf(secret.subarray(0, EVENT_SECRET_BYTES / 2))
    this.#ofEvents = cipherOf(secret.subarray(EVENT_SECRET_BYTES / 2))
  }

  /** Encrypts the keys of a group in place, with a single call of the cipher. */
  encrypt({ keys, userId, elementsEnd }: PlainKeys, submissions: number): void {
    let element = 0
    for (let submission = 0; submission < submissions; submission++) {
      const end = elementsEnd[submission] ?? 0
      const [m0 = 0, m1 = 0, m2 = 0, m3 = 0] = this.#maskOf(userId[submission] ?? 0)
      for (; element < end; element++) {
        const at = element * KEY_WORDS
        keys[at] = (keys[at] ?? 0) ^ m0
        keys[at + 1] = (keys[at + 1] ?? 0) ^ m1
        keys[at + 2] = (keys[at + 2] ?? 0) ^ m2
        keys[at + 3] = (keys[at + 3] ?? 0) ^ m3
      }
    }
    const plain = new Uint8Array(keys.buffer, keys.byteOffset, element * KEY_BYTES)
    plain.set(this.#ofEvents.update(plain))
  }

  /** What a fixed block, of no user, encrypts to: equal only for the same secret. */
  get check(): Buffer {
    const keys = new Uint32Array(KEY_WORDS).fill(0xffff_ffff)
    this.encrypt({ keys, userId: [0], elementsEnd: [1] }, 1)
    return Buffer.from(keys.buffer)
  }

  #maskOf(userId: number): Uint32Array {
    const known = this.#masks.get(userId)
    if (known !== undefined) return known
    const block = Buffer.alloc(KEY_BYTES)
    block.writeUInt32LE(userId)
    const mask = new Uint32Array(KEY_WORDS)
    new Uint8Array(mask.buffer).set(this.#ofUsers.update(block))
    if (this.#masks.size >= MASKS_MAX) this.#masks.clear()
    this.#masks.set(userId, mask)
    return mask
  }
}

function cipherOf(key: Uint8Array): Cipheriv {
  return createCipheriv('aes-128-ecb', key, null).setAutoPadding(false)
}
