// ControlWriter on PostgreSQL: each call is one transaction.

import { callsOf } from '../../control/calls.ts'
import { controlWrites } from '../../control/writes.ts'
import type { ControlWriter } from '../../ports/control-writer.ts'
import type { Clock } from '../../ports/system.ts'
import type { Database, Sql } from '../database.ts'
import { changeSensor, createSensor, deleteSensor } from './sensor-writes.ts'
import { runFlow } from '../run-flow.ts'
import { addUserState, deleteAccount, deleteUser } from './user-state.ts'

const LOCK_TOKENS = `
  SELECT 1 FROM access_tokens WHERE id = ANY ($1::bigint[]) ORDER BY id FOR NO KEY UPDATE`
const RECORD_TOKEN_USES = `
  UPDATE access_tokens t SET last_used_at_ms = greatest(coalesce(t.last_used_at_ms, 0), u.at_ms)
  FROM unnest($1::bigint[], $2::bigint[]) u (id, at_ms) WHERE t.id = u.id`

/** @param onJournalled told of new journal rows, with how many measurements they have */
export function createControlWriter(
  of: { readonly database: Database; readonly clock: Clock },
  settings: { readonly sensorsPerUserMax: number },
  onJournalled: (measurements: number) => void,
): ControlWriter {
  const { database, clock } = of
  const inTransaction = <Result>(work: (sql: Sql, nowMs: number) => Promise<Result>) =>
    database.transaction((sql) => work(sql, clock.nowMs()))
  const writes = callsOf(controlWrites(clock, addUserState), (begin) =>
    // A deadlock or a lost race begins the flow anew.
    database.transaction((sql) => runFlow(sql, begin())),
  )
  /** Of work that changes sensors. */
  const journalling = async <Result>(
    isDone: (result: Result) => boolean,
    work: (sql: Sql, nowMs: number) => Promise<Result>,
  ): Promise<Result> => {
    const result = await inTransaction(work)
    if (isDone(result)) onJournalled(0)
    return result
  }
  return {
    ...writes,
    keepRefused: async (refused) => {
      await writes.keepRefused(refused)
      await writes.makeRoomForRefused()
    },
    noteRefusedRetries: async (retries) => {
      const deleted = await writes.noteRefusedRetries(retries)
      await writes.makeRoomForRefused()
      return deleted
    },
    deleteUser: (userId) => inTransaction((sql) => deleteUser(sql, userId)),
    deleteAccount: (userId) => inTransaction((sql, nowMs) => deleteAccount(sql, { userId, nowMs })),
    recordTokenUses: (uses) => inTransaction((sql) => recordTokenUses(sql, uses)),
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
