// How much is kept of what was refused, and what of it is the same.

import { hash } from 'node:crypto'
import { refusedBytesMax, refusedUserBytesMax } from './limits.ts'

/** What a row takes in addition to its texts. */
const ROW_BYTES = 256

interface RefusedTexts {
  readonly kind: string
  readonly content: string
  readonly fields: readonly number[] | null
  readonly unitNs: string
  readonly serialNumberPrefix: string
  readonly reason: string
}

/**
 * The hash of all that decides what an entry becomes when it is retried. The fields are part of it:
 * when a line without a time comes a second time, another part of it may be stored. Each entry then
 * has the time of its own arrival, and none of its fields was stored with that.
 */
export function refusedKey(entry: RefusedTexts): Buffer {
  const { kind, content, fields, unitNs, serialNumberPrefix } = entry
  const parts = [kind, content, fields, unitNs, serialNumberPrefix]
  return hash('sha256', JSON.stringify(parts), 'buffer')
}

/** Bytes of an entry: its texts as they are stored, in UTF-8, and its row. */
export function refusedEntryBytes({ content, fields, reason }: RefusedTexts): number {
  const texts = [content, reason, fields === null ? '' : JSON.stringify(fields)]
  return texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), ROW_BYTES)
}

/**
 * The bytes that each user may keep so that everything fits: users with less lose nothing.
 *
 * @param bytesOfUsers what they have now
 */
export function refusedShare(bytesOfUsers: readonly number[]): number {
  let left = refusedBytesMax
  let users = bytesOfUsers.length
  for (const bytes of bytesOfUsers.toSorted((a, b) => a - b)) {
    if (bytes * users > left) return Math.min(Math.floor(left / users), refusedUserBytesMax)
    left -= bytes
    users--
  }
  return refusedUserBytesMax
}
