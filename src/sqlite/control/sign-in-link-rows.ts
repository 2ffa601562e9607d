// Links to sign in with, as rows of control.db.

import { codeRepeatMsMax, signInLinksPerUserMax } from '../../domain/limits.ts'
import type { NewSignInLink, SignInLink } from '../../ports/sign-in-links.ts'
import type { Connection } from '../database.ts'

const FORGET_ENDED = 'DELETE FROM sign_in_links WHERE expires_at_ms <= ? OR used_at_ms <= ?'
const KEEP_NEWEST = `
  DELETE FROM sign_in_links WHERE hash IN (
    SELECT hash FROM sign_in_links WHERE user_id IS ? AND used_at_ms IS NULL
    ORDER BY created_at_ms DESC LIMIT -1 OFFSET ?)`
const INSERT = `
  INSERT INTO sign_in_links (hash, user_id, salt, created_at_ms, expires_at_ms)
  VALUES (?, ?, ?, ?, ?)`
const FIND = `
  SELECT user_id AS userId, salt, expires_at_ms AS expiresAtMs, used_at_ms AS usedAtMs
  FROM sign_in_links WHERE hash = ?`
const USE = 'UPDATE sign_in_links SET user_id = ?, used_at_ms = ? WHERE hash = ?'
const END_OPEN = 'DELETE FROM sign_in_links WHERE user_id IS ? AND used_at_ms IS NULL'

interface LinkRow extends SignInLink {
  readonly expiresAtMs: number | null
  readonly usedAtMs: number | null
}

export class SignInLinkRows {
  readonly #db: Connection

  constructor(db: Connection) {
    this.#db = db
  }

  add({ hash, userId, salt, nowMs, expiresAtMs }: NewSignInLink): void {
    this.#db.prepare(FORGET_ENDED).run(nowMs, nowMs - codeRepeatMsMax)
    this.#db.prepare(KEEP_NEWEST).run(userId, signInLinksPerUserMax - 1)
    const row = [Buffer.from(hash), userId, Buffer.from(salt), nowMs, expiresAtMs]
    this.#db.prepare(INSERT).run(...row)
  }

  find(hash: Uint8Array): LinkRow | undefined {
    return this.#db.prepare<[Buffer], LinkRow>(FIND).get(Buffer.from(hash))
  }

  use(hash: Uint8Array, userId: number | null, nowMs: number): void {
    this.#db.prepare(USE).run(userId, nowMs, Buffer.from(hash))
  }

  /** @param userId `null`: the links that would make the first user */
  endOpen(userId: number | null): void {
    this.#db.prepare(END_OPEN).run(userId)
  }
}
