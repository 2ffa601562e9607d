// The key of an event in memory: 16 characters for the 16 bytes of its id's bits, then its user.
// Such keys sort like the ledger's primary key.

import { EVENT_BITS_WORDS, writeEventBits } from '../../domain/event-bits.ts'

const words = new Uint32Array(EVENT_BITS_WORDS)
const bytes = Buffer.from(words.buffer)

export function eventKeyOf(eventId: string, userId: number): string {
  writeEventBits(eventId, words, 0)
  return keyOfBits(bytes, userId)
}

/** @param bits as stored in the ledger */
export function keyOfBits(bits: Buffer, userId: number): string {
  return bits.toString('latin1') + String(userId)
}
