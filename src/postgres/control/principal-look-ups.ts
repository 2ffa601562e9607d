// Looks up the principals of access tokens.

import { PRINCIPALS, toPrincipal } from '../../control/tokens.ts'
import type { PrincipalRow } from '../../control/tokens.ts'
import type { Principal } from '../../domain/access.ts'
import type { Sql } from '../server/database.ts'

/** How many tokens one statement looks up. */
const LOOK_UPS_MAX = 1_000
/** While so many statements are under way, further look-ups gather. */
const STATEMENTS_MAX = 2

const BY_HASHES = `${PRINCIPALS} WHERE t.hash = ANY ($1::bytea[])`

interface Waiting {
  readonly hash: Buffer
  readonly resolve: (principal: Principal | undefined) => void
  readonly reject: (error: unknown) => void
}

/**
 * Finds the principal of a token. Nothing is cached, so a token revoked by another process is
 * unknown at once; simultaneous requests share a statement.
 */
export class PrincipalLookUps {
  readonly #sql: Sql
  #waiting: Waiting[] = []
  #statements = 0

  constructor(sql: Sql) {
    this.#sql = sql
  }

  find(tokenHash: Buffer): Promise<Principal | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<Principal | undefined>()
    this.#waiting.push({ hash: tokenHash, resolve, reject })
    if (this.#waiting.length === 1) setImmediate(() => void this.#look())
    return promise
  }

  async #look(): Promise<void> {
    if (this.#statements >= STATEMENTS_MAX || this.#waiting.length === 0) return
    const asked = this.#waiting.splice(0, LOOK_UPS_MAX)
    this.#statements++
    try {
      const hashes = new Map(asked.map(({ hash }) => [hash.toString('latin1'), hash]))
      const rows = await this.#sql.rows<PrincipalRow>(BY_HASHES, [[...hashes.values()]])
      const found = new Map(rows.map((row) => [row.hash.toString('latin1'), toPrincipal(row)]))
      for (const { hash, resolve } of asked) resolve(found.get(hash.toString('latin1')))
    } catch (error) {
      for (const { reject } of asked) reject(error)
    } finally {
      this.#statements--
    }
    void this.#look()
  }
}
