// Identities of users: which person at which identity provider is which user.

import type { Identity, UserIdentity } from '../../domain/access.ts'
import type { Connection } from '../database.ts'

const USER_OF = 'SELECT user_id FROM identities WHERE issuer = ? AND subject = ?'
const LIST = `
  SELECT issuer, subject, user_id AS userId, created_at_ms AS createdAtMs
  FROM identities ORDER BY user_id, issuer`
const ADD = `
  INSERT INTO identities (issuer, subject, user_id, created_at_ms) VALUES (?, ?, ?, ?)
  ON CONFLICT (user_id, issuer) DO NOTHING`
const REMOVE = 'DELETE FROM identities WHERE user_id = ? AND issuer = ?'

export class IdentityRows {
  readonly #db: Connection

  constructor(db: Connection) {
    this.#db = db
  }

  userOf({ issuer, subject }: Identity): number | undefined {
    return this.#db.prepare<[string, string], number>(USER_OF).pluck().get(issuer, subject)
  }

  list(): UserIdentity[] {
    return this.#db.prepare<[], UserIdentity>(LIST).all()
  }

  /** @returns whether it was added: a user has at most one identity per issuer */
  add({ issuer, subject }: Identity, userId: number, nowMs: number): boolean {
    return this.#db.prepare(ADD).run(issuer, subject, userId, nowMs).changes > 0
  }

  /** @returns whether there was one */
  remove(userId: number, issuer: string): boolean {
    return this.#db.prepare(REMOVE).run(userId, issuer).changes > 0
  }
}
