// Authenticates what clients bring back: cursors of changes, which are also the ids of live events.
// Each ends in an authenticator, computed with a secret of the data, which proves that this user
// was given its text. A text that was changed or made up is not read.

import { createHmac, timingSafeEqual } from 'node:crypto'
import { cursorCharactersMax } from '../domain/limits.ts'

const AUTHENTICATOR_BYTES = 16

/** Given instead of a text that is too long. Never valid, so the client begins again. */
const UNKNOWN = 'unknown'

export class CursorSeal {
  readonly #secret: Uint8Array

  constructor(secret: Uint8Array) {
    this.#secret = secret
  }

  /** @param text its characters need no escaping in a URL or a header */
  seal(userId: number, text: string): string {
    const sealed = `${text}.${this.#authenticate(userId, text)}`
    return sealed.length > cursorCharactersMax ? UNKNOWN : sealed
  }

  /** @returns the text; `undefined` if it was not sealed here for this user */
  open(userId: number, sealed: string): string | undefined {
    if (sealed.length > cursorCharactersMax) return undefined
    const end = sealed.lastIndexOf('.')
    const text = sealed.slice(0, Math.max(0, end))
    const given = Buffer.from(sealed.slice(end + 1))
    const expected = Buffer.from(this.#authenticate(userId, text))
    const isOurs = given.length === expected.length && timingSafeEqual(given, expected)
    return isOurs ? text : undefined
  }

  #authenticate(userId: number, text: string): string {
    const digest = createHmac('sha256', this.#secret).update(`${userId}/${text}`).digest()
    return digest.toString('base64url', 0, AUTHENTICATOR_BYTES)
  }
}
