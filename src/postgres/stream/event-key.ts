// The key of an event in memory: the 16 bytes of its id's bits, one character each, and its user.
// Keys are sorted as the primary key of the ledger is.

import { EVENT_BITS_WORDS, writeEventBits } from '../../domain/event-bits.ts'

const words = new Uint32Array(EVENT_BITS_WORDS)
const bytes = Buffer.from(words.buffer)

export function eventKeyOf(eventId: string, userId: number): string {
  writeEventBits(eventId, words, 0)
  return keyOfBits(bytes, userId)
}

/** @param bits as the ledger has them */
export function keyOfBits(bits: Buffer, userId: number): string {
  return bits.toString('latin1') + String(userId)
}
