// The key of an event: 128 bits that stand for a user's event id, as four 32-bit words.
//
// It is AES-128 of (bits of the id ⊕ AES-128 of the user's id), under two keys made with the data
// (event-secret.ts); the bits come from domain/event-bits.ts.
// So keys are evenly spread whatever ids a sender chooses, two users never share one, and the
// secret can turn a key back into its plain bits. Among a hundred million keys, the chance that two
// are equal is about 1 in 10^22.

import { createCipheriv, createDecipheriv } from 'node:crypto'
import type { Cipheriv, Decipheriv } from 'node:crypto'
import { EVENT_BITS_WORDS } from '../domain/event-bits.ts'

export const KEY_WORDS = EVENT_BITS_WORDS
const KEY_BYTES = KEY_WORDS * 4

/** Length of the secret for encrypting keys. */
export const EVENT_SECRET_BYTES = 32

const CIPHER = 'aes-128-ecb'

/** How many encrypted user ids are cached. */
const MASKS_MAX = 10_000

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
  readonly #backwards: Decipheriv
  readonly #masks = new Map<number, Uint32Array>()

  constructor(secret: Uint8Array) {
    this.#ofUsers = cipherOf(secret.subarray(0, EVENT_SECRET_BYTES / 2))
    const eventSecret = secret.subarray(EVENT_SECRET_BYTES / 2)
    this.#ofEvents = cipherOf(eventSecret)
    this.#backwards = createDecipheriv(CIPHER, eventSecret, null).setAutoPadding(false)
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

  /**
   * Turns keys back into the plain bits of the event ids, in place.
   *
   * @param keys 16 bytes each
   * @param userIds of each
   */
  decrypt(keys: Buffer, userIds: readonly number[]): void {
    this.#backwards.update(keys).copy(keys)
    userIds.forEach((userId, event) => {
      this.#maskOf(userId).forEach((mask, word) => {
        const at = event * KEY_BYTES + word * 4
        keys.writeUInt32LE((keys.readUInt32LE(at) ^ mask) >>> 0, at)
      })
    })
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
  return createCipheriv(CIPHER, key, null).setAutoPadding(false)
}
