// The key of an event: 128 bits that stand for a user's event id, as four 32-bit words.
//
// It is AES-128 of (bits of the id ⊕ AES-128 of the user's id), under two keys, the secret; the
// bits come from domain/event-bits.ts.
// So keys are evenly spread whatever ids a sender chooses, two users never share one, and the
// secret can turn a key back into its plain bits. Among a hundred million keys, the chance that two
// are equal is about 1 in 10^22.
//
// The secret is made once, with the data, and kept in control.db, so every backup has it; nothing
// ever shows it. Journal and ledger each have a check value that only their own secret produces:
// with any other secret, every event would look new.

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { Cipheriv, Decipheriv } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { EVENT_BITS_WORDS } from '../domain/event-bits.ts'
import { CONTROL_FILE, LEDGER_FILE } from './database.ts'
import type { Connection } from './database.ts'

export const KEY_WORDS = EVENT_BITS_WORDS
const KEY_BYTES = KEY_WORDS * 4

/** Half for users, half for events. */
const EVENT_SECRET_BYTES = 32

const CIPHER = 'aes-128-ecb'

/** How many encrypted user ids are cached. */
const MASKS_MAX = 10_000

const SECRET = 'SELECT secret, checksum, journal_check AS journalCheck FROM event_secret'
const INSERT_SECRET = `
  INSERT INTO event_secret (id, secret, checksum, journal_check) VALUES (1, ?, ?, ?)`
const LEDGER_CHECK = 'SELECT key_check FROM sealed WHERE id = 1'
const SET_LEDGER_CHECK = 'UPDATE sealed SET key_check = ? WHERE id = 1'
/** What to do; `verify` has its own words for it. */
const USE = 'use the files that were written together, or restore a backup'

const CURSOR_SECRET_BYTES = 32

const HAS_EVENTS = `
  SELECT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'journal' AND seq > 0)`

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

interface SecretRow {
  readonly secret: Buffer
  readonly checksum: number
  readonly journalCheck: Buffer
}

/** Makes the secret of new data; does nothing if there is one. */
export function makeEventSecret(control: Connection): void {
  control
    .transaction(() => {
      if (control.prepare(SECRET).get() !== undefined) return
      // Another secret would not recognise the existing events.
      if (control.prepare<[], number>(HAS_EVENTS).pluck().get() === 1) return
      const secret = randomBytes(EVENT_SECRET_BYTES)
      const { check } = new EventKeyCipher(secret)
      control.prepare(INSERT_SECRET).run(secret, crc32(secret), check)
    })
    .immediate()
}

/** @throws Error if it is missing or damaged, or the journal was written with another one */
export function readEventSecret(control: Connection): Uint8Array {
  const row = control.prepare<[], SecretRow>(SECRET).get()
  if (row === undefined) throw new Error(`${CONTROL_FILE} has lost its event secret: ${USE}`)
  const { secret, checksum, journalCheck } = row
  if (secret.length !== EVENT_SECRET_BYTES || crc32(secret) !== checksum) {
    throw new Error(`the event secret in ${CONTROL_FILE} is damaged: ${USE}`)
  }
  if (!new EventKeyCipher(secret).check.equals(journalCheck)) {
    throw new Error(`the journal in ${CONTROL_FILE} was written with another secret: ${USE}`)
  }
  return secret
}

/** A secret for the cursors of clients, of which nobody can tell this one. */
export function deriveCursorSecret(eventSecret: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', eventSecret, '', 'cursors', CURSOR_SECRET_BYTES))
}

/** Binds a new ledger to a secret. */
export function bindLedger(ledger: Connection, secret: Uint8Array): void {
  const { check } = new EventKeyCipher(secret)
  if (readLedgerCheck(ledger) === null) ledger.prepare(SET_LEDGER_CHECK).run(check)
  refuseOtherLedger(ledger, secret)
}

/** @throws Error if a ledger was written with another secret */
export function refuseOtherLedger(ledger: Connection, secret: Uint8Array): void {
  const stored = readLedgerCheck(ledger)
  // The ledger is still empty.
  if (stored === null || new EventKeyCipher(secret).check.equals(stored)) return
  throw new Error(`${LEDGER_FILE} does not belong to the secret in ${CONTROL_FILE}: ${USE}`)
}

function readLedgerCheck(ledger: Connection): Buffer | null {
  return ledger.prepare<[], Buffer | null>(LEDGER_CHECK).pluck().get() ?? null
}
