// ControlWriter on PostgreSQL: each call is one transaction.

import type { Right, RotatedToken, TokenRotation } from '../../domain/access.ts'
import type { ControlWriter } from '../../ports/control-writer.ts'
import type { Clock } from '../../ports/system.ts'
import type { Database, Sql } from '../database.ts'
import { dropRefused, keepRefused, makeRoomForRefused, noteRefusedRetries } from './refused-rows.ts'
import { changeSensor, createSensor, deleteSensor } from './sensor-writes.ts'
import { createSignInLink, redeemSignInLink } from './sign-in-links.ts'
import { noteSkipped } from './skipped-rows.ts'
import {
  createUser,
  deleteAccount,
  deleteUser,
  insertToken,
  renameUser,
  signIn,
  unlinkIdentity,
} from './user-writes.ts'

interface DaemonTokenRow {
  readonly userId: number
  readonly name: string
  readonly rights: string
  readonly serialNumberPrefix: string
  readonly createdAtMs: number
  readonly expiresAtMs: number | null
}

const REVOKE_TOKEN = `
  UPDATE access_tokens SET revoked_at_ms = $2 WHERE id = $1 AND revoked_at_ms IS NULL`
const LIVE_DAEMON_TOKEN = `
  SELECT user_id AS "userId", name, rights, serial_number_prefix AS "serialNumberPrefix",
    created_at_ms AS "createdAtMs", expires_at_ms AS "expiresAtMs"
  FROM access_tokens WHERE id = $1 AND kind = 'daemon' AND revoked_at_ms IS NULL
    AND (expires_at_ms IS NULL OR expires_at_ms > $2) FOR UPDATE`
// Before the token, as whoever deletes the user does.
const KEEP_OWNER = `
  SELECT 1 FROM users
  WHERE id = (SELECT user_id FROM access_tokens WHERE id = $1) FOR KEY SHARE`
const EXPIRE_TOKEN = 'UPDATE access_tokens SET expires_at_ms = $2 WHERE id = $1'
const LOCK_TOKENS = `
  SELECT 1 FROM access_tokens WHERE id = ANY ($1::bigint[]) ORDER BY id FOR NO KEY UPDATE`
const RECORD_TOKEN_USES = `
  UPDATE access_tokens t SET last_used_at_ms = greatest(coalesce(t.last_used_at_ms, 0), u.at_ms)
  FROM unnest($1::bigint[], $2::bigint[]) u (id, at_ms) WHERE t.id = u.id`
const NOTE_STORED_LINES = `
  UPDATE access_tokens SET has_stored_lines = true WHERE id = $1 AND NOT has_stored_lines`

/** @param onJournalled told of new journal rows, with how many measurements they have */
export function createControlWriter(
  of: { readonly database: Database; readonly clock: Clock },
  settings: { readonly sensorsPerUserMax: number },
  onJournalled: (measurements: number) => void,
): ControlWriter {
  const { database, clock } = of
  const inTransaction = <Result>(work: (sql: Sql, nowMs: number) => Promise<Result>) =>
    database.transaction((sql) => work(sql, clock.nowMs()))
  /** Of work that changes sensors. */
  const journalling = async <Result>(
    isDone: (result: Result) => boolean,
    work: (sql: Sql, nowMs: number) => Promise<Result>,
  ): Promise<Result> => {
    const result = await inTransaction(work)
    if (isDone(result)) onJournalled(0)
    return result
  }
  /** Of work that makes what is kept of refused entries larger. */
  const makingRoom = async <Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> => {
    const result = await inTransaction(work)
    await inTransaction((sql) => makeRoomForRefused(sql))
    return result
  }
  return {
    createUser: (email, name) =>
      inTransaction((sql, nowMs) => createUser(sql, { email, name, nowMs })),
    renameUser: (userId, change) => inTransaction((sql) => renameUser(sql, userId, change)),
    deleteUser: (userId) => inTransaction((sql) => deleteUser(sql, userId)),
    deleteAccount: (userId) => inTransaction((sql, nowMs) => deleteAccount(sql, { userId, nowMs })),
    signIn: (order) => inTransaction((sql, nowMs) => signIn(sql, order, nowMs)),
    createSignInLink: (link) => inTransaction((sql) => createSignInLink(sql, link)),
    redeemSignInLink: (order) => inTransaction((sql) => redeemSignInLink(sql, order)),
    unlinkIdentity: (userId, issuer) =>
      inTransaction((sql, nowMs) => unlinkIdentity(sql, { userId, issuer, nowMs })),
    createToken: (token) => inTransaction((sql, nowMs) => insertToken(sql, token, nowMs)),
    revokeToken: (tokenId) =>
      inTransaction(async (sql, nowMs) => (await sql.change(REVOKE_TOKEN, [tokenId, nowMs])) > 0),
    rotateToken: (tokenId, order) => inTransaction((sql) => rotateToken(sql, tokenId, order)),
    recordTokenUses: (uses) => inTransaction((sql) => recordTokenUses(sql, uses)),
    noteSkipped: (skipped) => inTransaction((sql) => noteSkipped(sql, skipped)),
    noteStoredLines: (tokenId) =>
      inTransaction(async (sql) => void (await sql.change(NOTE_STORED_LINES, [tokenId]))),
    keepRefused: (refused) => makingRoom((sql) => keepRefused(sql, refused)),
    noteRefusedRetries: (retries) => makingRoom((sql) => noteRefusedRetries(sql, retries)),
    dropRefused: (ids) => inTransaction((sql) => dropRefused(sql, ids)),
    createSensor: (userId, serialNumber, alias) =>
      journalling(
        (sensor) => typeof sensor === 'object',
        (sql, nowMs) => {
          const { sensorsPerUserMax } = settings
          return createSensor(sql, { userId, serialNumber, alias }, { nowMs, sensorsPerUserMax })
        },
      ),
    changeSensor: (userId, sensorId, change) =>
      journalling(
        (sensor) => sensor !== undefined,
        (sql, nowMs) => changeSensor(sql, { userId, sensorId }, { ...change, nowMs }),
      ),
    deleteSensor: (userId, sensorId) =>
      journalling(Boolean, (sql, nowMs) => deleteSensor(sql, { userId, sensorId, nowMs })),
  }
}

async function rotateToken(
  sql: Sql,
  tokenId: number,
  { hash, nowMs, overlapMs }: TokenRotation,
): Promise<RotatedToken | undefined> {
  await sql.rows(KEEP_OWNER, [tokenId])
  const [old] = await sql.rows<DaemonTokenRow>(LIVE_DAEMON_TOKEN, [tokenId, nowMs])
  if (old === undefined) return undefined
  const { userId, name, serialNumberPrefix, expiresAtMs } = old
  const rights = old.rights.split(' ') as Right[]
  // What was made for a year is made for a year again.
  const newExpiresAtMs = expiresAtMs === null ? null : nowMs + expiresAtMs - old.createdAtMs
  const same = { userId, kind: 'daemon', name, rights, serialNumberPrefix } as const
  const order = { ...same, hash: Buffer.from(hash), expiresAtMs: newExpiresAtMs }
  const token = await insertToken(sql, order, nowMs)
  const oldExpiresAtMs = Math.min(expiresAtMs ?? Infinity, nowMs + overlapMs)
  await sql.change(EXPIRE_TOKEN, [tokenId, oldExpiresAtMs])
  return { token, oldExpiresAtMs }
}

async function recordTokenUses(sql: Sql, uses: ReadonlyMap<number, number>): Promise<void> {
  const ids = [...uses.keys()]
  await sql.rows(LOCK_TOKENS, [ids])
  await sql.change(RECORD_TOKEN_USES, [ids, [...uses.values()]])
}
