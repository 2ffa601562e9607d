// Access tokens as rows, and the look-ups of who presents one.

import type { AccessToken, Principal, Right, TokenKind, User } from '../../domain/access.ts'
import type { Sql } from '../database.ts'

interface TokenRow {
  readonly id: number
  readonly userId: number
  readonly kind: TokenKind
  readonly name: string
  readonly rights: string
  readonly serialNumberPrefix: string
  readonly appName: string
  readonly createdAtMs: number
  readonly expiresAtMs: number | null
  readonly lastUsedAtMs: number | null
  readonly revokedAtMs: number | null
}

interface PrincipalRow extends TokenRow {
  readonly hash: Buffer
  readonly email: string
  readonly userName: string
}

/** Look-ups in one statement. */
const LOOK_UPS_MAX = 1_000
/** While these are under way, others gather. */
const STATEMENTS_MAX = 2

const COLUMNS = `
  t.id, t.user_id AS "userId", t.kind, t.name, t.rights,
  t.serial_number_prefix AS "serialNumberPrefix", t.app_name AS "appName",
  t.created_at_ms AS "createdAtMs", t.expires_at_ms AS "expiresAtMs",
  t.last_used_at_ms AS "lastUsedAtMs", t.revoked_at_ms AS "revokedAtMs"`
const OF_USER = `SELECT ${COLUMNS} FROM access_tokens t WHERE t.user_id = $1 ORDER BY t.id`
const SESSIONS_OF_USER = `
  SELECT ${COLUMNS} FROM access_tokens t
  WHERE t.user_id = $1 AND t.kind = 'mobile' AND t.revoked_at_ms IS NULL ORDER BY t.id DESC`
const BY_HASHES = `
  SELECT ${COLUMNS}, t.hash, u.email, u.name AS "userName"
  FROM access_tokens t JOIN users u ON u.id = t.user_id WHERE t.hash = ANY ($1::bytea[])`

export async function listTokens(sql: Sql, userId: number): Promise<AccessToken[]> {
  return (await sql.rows<TokenRow>(OF_USER, [userId])).map(toToken)
}

export async function listSessions(sql: Sql, userId: number): Promise<AccessToken[]> {
  return (await sql.rows<TokenRow>(SESSIONS_OF_USER, [userId])).map(toToken)
}

export async function findToken(sql: Sql, hash: Uint8Array): Promise<AccessToken | undefined> {
  const [row] = await sql.rows<PrincipalRow>(BY_HASHES, [[Buffer.from(hash)]])
  return row && toPrincipal(row).token
}

/** Rows have no name for a user who is called by the address. */
export function toUser({ id, email, name }: User): User {
  return { id, email, name: name || email }
}

interface Waiting {
  readonly hash: Buffer
  readonly resolve: (principal: Principal | undefined) => void
  readonly reject: (error: unknown) => void
}

/**
 * Who presents a token. Nothing is remembered, so that a token that was revoked elsewhere is
 * unknown at once; requests that come together share a statement.
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

function toPrincipal(row: PrincipalRow): Principal {
  const { hash: _hash, email, userName, ...token } = row
  return { token: toToken(token), user: toUser({ id: row.userId, email, name: userName }) }
}

function toToken({ rights, ...row }: TokenRow): AccessToken {
  return { ...row, rights: rights === '' ? [] : (rights.split(' ') as Right[]) }
}
