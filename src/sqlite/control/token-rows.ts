// Access tokens as rows of control.db, changed within the caller's transaction.

import type {
  AccessToken,
  Right,
  RotatedToken,
  TokenKind,
  TokenRotation,
} from '../../domain/access.ts'
import { sessionsPerUserMax } from '../../domain/limits.ts'
import type { NewAccessToken } from '../../ports/control-writer.ts'
import type { Clock } from '../../ports/system.ts'
import type { Connection } from '../database.ts'

export interface TokenRow {
  id: number
  userId: number
  kind: TokenKind
  name: string
  rights: string
  serialNumberPrefix: string
  appName: string
  createdAtMs: number
  expiresAtMs: number | null
  lastUsedAtMs: number | null
  revokedAtMs: number | null
}

interface DaemonTokenRow {
  userId: number
  name: string
  rights: string
  serialNumberPrefix: string
  createdAtMs: number
  expiresAtMs: number | null
}

export const TOKEN_COLUMNS = `
  t.id, t.user_id AS userId, t.kind, t.name, t.rights, t.created_at_ms AS createdAtMs,
  t.serial_number_prefix AS serialNumberPrefix, t.app_name AS appName,
  t.expires_at_ms AS expiresAtMs, t.last_used_at_ms AS lastUsedAtMs,
  t.revoked_at_ms AS revokedAtMs`
export const TOKEN_BY_HASH = `SELECT ${TOKEN_COLUMNS} FROM access_tokens t WHERE t.hash = ?`
const INSERT = `
  INSERT INTO access_tokens
    (user_id, kind, name, rights, serial_number_prefix, app_name, hash, created_at_ms,
      expires_at_ms)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
const REVOKE = `
  UPDATE access_tokens SET revoked_at_ms = ? WHERE id = ? AND revoked_at_ms IS NULL`
const LIVE_DAEMON_TOKEN = `
  SELECT user_id AS userId, name, rights, serial_number_prefix AS serialNumberPrefix,
    created_at_ms AS createdAtMs, expires_at_ms AS expiresAtMs
  FROM access_tokens WHERE id = ? AND kind = 'daemon' AND revoked_at_ms IS NULL
    AND (expires_at_ms IS NULL OR expires_at_ms > ?)`
const EXPIRE = 'UPDATE access_tokens SET expires_at_ms = ? WHERE id = ?'
const END_SESSIONS = `
  UPDATE access_tokens SET revoked_at_ms = ?
  WHERE user_id = ? AND kind = 'mobile' AND revoked_at_ms IS NULL AND name = ifnull(?, name)
  RETURNING id`
const END_OLD_SESSIONS = `
  UPDATE access_tokens SET revoked_at_ms = ?
  WHERE id IN (
    SELECT id FROM access_tokens
    WHERE user_id = ? AND kind = 'mobile' AND revoked_at_ms IS NULL
    ORDER BY max(created_at_ms, ifnull(last_used_at_ms, 0)) DESC, id DESC LIMIT -1 OFFSET ?)
  RETURNING id`
const RECORD_USE = `
  UPDATE access_tokens SET last_used_at_ms = max(ifnull(last_used_at_ms, 0), ?) WHERE id = ?`

export class TokenRows {
  readonly #db: Connection
  readonly #clock: Clock

  constructor(db: Connection, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  find(hash: Uint8Array): AccessToken | undefined {
    const row = this.#db.prepare<[Buffer], TokenRow>(TOKEN_BY_HASH).get(Buffer.from(hash))
    return row && toToken(row)
  }

  create(token: NewAccessToken): AccessToken {
    const { userId, kind, name, rights, serialNumberPrefix = '', appName = '', expiresAtMs } = token
    const createdAtMs = this.#clock.nowMs()
    const names = [kind, name, rights.join(' '), serialNumberPrefix, appName]
    const row = [userId, ...names, Buffer.from(token.hash), createdAtMs, expiresAtMs]
    const { lastInsertRowid } = this.#db.prepare(INSERT).run(...row)
    const id = Number(lastInsertRowid)
    const unused = { lastUsedAtMs: null, revokedAtMs: null }
    const what = { id, userId, kind, name, rights, serialNumberPrefix, appName }
    return { ...what, createdAtMs, expiresAtMs, ...unused }
  }

  revoke(tokenId: number): boolean {
    return this.#db.prepare(REVOKE).run(this.#clock.nowMs(), tokenId).changes > 0
  }

  rotate(tokenId: number, { nowMs, overlapMs, hash }: TokenRotation): RotatedToken | undefined {
    const find = this.#db.prepare<[number, number], DaemonTokenRow>(LIVE_DAEMON_TOKEN)
    const old = find.get(tokenId, nowMs)
    if (old === undefined) return undefined
    const { userId, name, serialNumberPrefix, expiresAtMs } = old
    const rights = old.rights.split(' ') as Right[]
    // What was valid for a year is valid for a year again.
    const lifetimeMs = expiresAtMs === null ? null : expiresAtMs - old.createdAtMs
    const ends = { expiresAtMs: lifetimeMs === null ? null : nowMs + lifetimeMs }
    const same = { userId, kind: 'daemon', name, rights, serialNumberPrefix } as const
    const token = this.create({ ...same, hash: Buffer.from(hash), ...ends })
    const oldExpiresAtMs = Math.min(expiresAtMs ?? Infinity, nowMs + overlapMs)
    this.#db.prepare(EXPIRE).run(oldExpiresAtMs, tokenId)
    return { token, oldExpiresAtMs }
  }

  /** @param name only of tokens that are called so; `null`: of any */
  endSessions(userId: number, name: string | null): number[] {
    const end = this.#db.prepare<[number, number, string | null], number>(END_SESSIONS).pluck()
    return end.all(this.#clock.nowMs(), userId, name)
  }

  /** Ends the sessions least recently used, beyond those that a user may have. */
  endOldSessions(userId: number): number[] {
    const end = this.#db.prepare<[number, number, number], number>(END_OLD_SESSIONS).pluck()
    return end.all(this.#clock.nowMs(), userId, sessionsPerUserMax)
  }

  recordUses(lastUsedAtMs: ReadonlyMap<number, number>): void {
    const record = this.#db.prepare(RECORD_USE)
    for (const [tokenId, usedAtMs] of lastUsedAtMs) record.run(usedAtMs, tokenId)
  }
}

export function toToken({ rights, ...row }: TokenRow): AccessToken {
  return { ...row, rights: rights === '' ? [] : (rights.split(' ') as Right[]) }
}
