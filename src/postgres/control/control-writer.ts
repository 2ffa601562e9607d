// ControlWriter and StoreUpkeep on PostgreSQL: each call is one transaction.

import { callsOf } from '../../control/flow.ts'
import { createWriters } from '../../control/writers.ts'
import type { WriterCalls, Writers } from '../../control/writers.ts'
import { controlWrites } from '../../control/writes.ts'
import type { Clock } from '../../ports/system.ts'
import { runFlow } from '../server/database.ts'
import type { Database, Sql } from '../server/database.ts'
import { changeSensor, createSensor, deleteSensor } from './sensor-writes.ts'
import { dropSetAside, retrySetAside } from './set-aside.ts'
import { addUserState, deleteAccount, deleteUser } from './user-state.ts'

const LOCK_TOKENS = `
  SELECT 1 FROM access_tokens WHERE id = ANY ($1::bigint[]) ORDER BY id FOR NO KEY UPDATE`
const RECORD_TOKEN_USES = `
  UPDATE access_tokens t SET last_used_at_ms = greatest(coalesce(t.last_used_at_ms, 0), u.at_ms)
  FROM unnest($1::bigint[], $2::bigint[]) u (id, at_ms) WHERE t.id = u.id`

/** @param onJournalled called with the number of measurements of new journal rows */
export function createControlWriter(
  { database, clock }: { readonly database: Database; readonly clock: Clock },
  { sensorsPerUserMax }: { readonly sensorsPerUserMax: number },
  onJournalled: (measurements: number) => void,
): Writers {
  const inTransaction = <Result>(work: (sql: Sql, nowMs: number) => Promise<Result>) =>
    database.transaction((sql) => work(sql, clock.nowMs()))
  const writes = callsOf(controlWrites(clock, addUserState), (begin) =>
    // After a deadlock or a lost race the flow begins again.
    database.transaction((sql) => runFlow(sql, begin())),
  )
  const calls = {
    ...writes,
    deleteUser: (userId) => inTransaction((sql) => deleteUser(sql, userId)),
    deleteAccount: (userId) => inTransaction((sql, nowMs) => deleteAccount(sql, { userId, nowMs })),
    recordTokenUses: (uses) => inTransaction((sql) => recordTokenUses(sql, uses)),
    createSensor: (userId, serialNumber, alias) =>
      inTransaction((sql, nowMs) =>
        createSensor(sql, { userId, serialNumber, alias }, { nowMs, sensorsPerUserMax }),
      ),
    changeSensor: (userId, sensorId, order) =>
      inTransaction((sql) => changeSensor(sql, { userId, sensorId }, order)),
    deleteSensor: (userId, sensorId) =>
      inTransaction((sql, nowMs) => deleteSensor(sql, { userId, sensorId, nowMs })),
    retrySetAside: (ids) => retrySetAside(database, ids, clock.nowMs()),
    dropSetAside: (ids) => dropSetAside(database, ids),
  } satisfies WriterCalls
  return createWriters(calls, onJournalled)
}

async function recordTokenUses(sql: Sql, uses: ReadonlyMap<number, number>): Promise<void> {
  const ids = [...uses.keys()]
  await sql.rows(LOCK_TOKENS, [ids])
  await sql.change(RECORD_TOKEN_USES, [ids, [...uses.values()]])
}
