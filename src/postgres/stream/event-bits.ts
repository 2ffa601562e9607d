// The bits of an event id, the same as in a data directory: the 16 bytes of a canonical UUID of
// version 1 to 7, and of any other text 128 bits of its SHA-256, marked as a UUID of version 8 so
// that both never meet. The primary key of the ledger holds them beside the user.

import { hash } from 'node:crypto'

const CANONICAL_UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-7][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const VERSION_BYTE = 6
const HASHED_VERSION = 0x80

/** @returns 16 bytes, one character each */
export function eventBits(eventId: string): string {
  if (CANONICAL_UUID.test(eventId)) {
    return Buffer.from(eventId.replaceAll('-', ''), 'hex').toString('latin1')
  }
  const digest = hash('sha256', eventId, 'binary')
  const version = (digest.charCodeAt(VERSION_BYTE) & 0x0f) | HASHED_VERSION
  const [before, after] = [digest.slice(0, VERSION_BYTE), digest.slice(VERSION_BYTE + 1, 16)]
  return before + String.fromCharCode(version) + after
}
