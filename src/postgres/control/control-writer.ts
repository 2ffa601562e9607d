// ControlWriter on PostgreSQL: each call is one transaction.

import type { Flow } from '../../control/flow.ts'
import {
  dropRefused,
  keepRefused,
  makeRoomForRefused,
  noteRefusedRetries,
} from '../../control/refused.ts'
import { createSignInLink, redeemSignInLink, signIn } from '../../control/sign-in.ts'
import { noteSkipped } from '../../control/skipped.ts'
import { createToken, revokeToken, rotateToken } from '../../control/tokens.ts'
import { createUser, renameUser, unlinkIdentity } from '../../control/users.ts'
import type { ControlWriter } from '../../ports/control-writer.ts'
import type { Clock } from '../../ports/system.ts'
import type { Database, Sql } from '../database.ts'
import { changeSensor, createSensor, deleteSensor } from './sensor-writes.ts'
import { runFlow } from './run-flow.ts'
import { addUserState, deleteAccount, deleteUser } from './user-state.ts'

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
  /** A deadlock or a lost race begins the flow anew. */
  const run = <Result>(flowAt: (nowMs: number) => Flow<Result>) =>
    inTransaction((sql, nowMs) => runFlow(sql, flowAt(nowMs)))
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
  const makingRoom = async <Result>(flow: () => Flow<Result>): Promise<Result> => {
    const result = await run(flow)
    await run(() => makeRoomForRefused())
    return result
  }
  return {
    createUser: (email, name) => run((nowMs) => createUser({ email, name, nowMs }, addUserState)),
    renameUser: (userId, change) => run(() => renameUser(userId, change)),
    deleteUser: (userId) => inTransaction((sql) => deleteUser(sql, userId)),
    deleteAccount: (userId) => inTransaction((sql, nowMs) => deleteAccount(sql, { userId, nowMs })),
    signIn: (order) => run((nowMs) => signIn(order, nowMs, addUserState)),
    createSignInLink: (link) => run(() => createSignInLink(link)),
    redeemSignInLink: (order) => run(() => redeemSignInLink(order, addUserState)),
    unlinkIdentity: (userId, issuer) => run((nowMs) => unlinkIdentity(userId, issuer, nowMs)),
    createToken: (token) => run((nowMs) => createToken(token, nowMs)),
    revokeToken: (tokenId) => run((nowMs) => revokeToken(tokenId, nowMs)),
    rotateToken: (tokenId, order) => run(() => rotateToken(tokenId, order)),
    recordTokenUses: (uses) => inTransaction((sql) => recordTokenUses(sql, uses)),
    noteSkipped: (skipped) => run(() => noteSkipped(skipped)),
    noteStoredLines: (tokenId) =>
      inTransaction(async (sql) => void (await sql.change(NOTE_STORED_LINES, [tokenId]))),
    keepRefused: (refused) => makingRoom(() => keepRefused(refused)),
    noteRefusedRetries: (retries) => makingRoom(() => noteRefusedRetries(retries)),
    dropRefused: (ids) => run(() => dropRefused(ids)),
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

async function recordTokenUses(sql: Sql, uses: ReadonlyMap<number, number>): Promise<void> {
  const ids = [...uses.keys()]
  await sql.rows(LOCK_TOKENS, [ids])
  await sql.change(RECORD_TOKEN_USES, [ids, [...uses.values()]])
}
