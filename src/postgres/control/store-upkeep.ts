// StoreUpkeep on PostgreSQL: which measurement store is in use, and what it has refused.

import { change } from '../../control/flow.ts'
import type { Flow } from '../../control/flow.ts'
import { adoptStore, switchStore } from '../../control/store-records.ts'
import type { StoreUpkeep } from '../../ports/store-upkeep.ts'
import type { Clock } from '../../ports/system.ts'
import { bucketOf } from '../../domain/bucket.ts'
import type { Database } from '../database.ts'
import { runFlow } from '../run-flow.ts'
import { dropSetAside, retrySetAside } from './set-aside.ts'

const ADOPT_STORE = `
  INSERT INTO measurement_store (name) VALUES ($1)
  ON CONFLICT (one) DO UPDATE SET name = excluded.name
  WHERE NOT EXISTS (SELECT 1 FROM accepted_per_day)
    AND NOT EXISTS (SELECT 1 FROM sensor_deletions)`
const INSERT_DELETION = `
  INSERT INTO sensor_deletions (bucket, sensor_id, user_id, start_ms, stop_ms, heads, due_at_ms)
  VALUES ($1, $2, $3, $4, $5, '', $6)`

/** @param onJournalled told of new journal rows, with how many measurements they have */
export function createStoreUpkeep(
  database: Database,
  clock: Clock,
  onJournalled: (measurements: number) => void,
): StoreUpkeep {
  const run = <Result>(begin: () => Flow<Result>) =>
    database.transaction((sql) => runFlow(sql, begin()))
  return {
    adoptStore: (name) => run(() => adoptStore(name, ADOPT_STORE)),
    switchStore: (order) =>
      run(() =>
        switchStore(order, ({ userId, sensorId, range: { startMs, stopMs } }) => {
          const values = [bucketOf(userId), sensorId, userId, startMs, stopMs, clock.nowMs()]
          return change(INSERT_DELETION, ...values)
        }),
      ),
    retrySetAside: async (ids) => {
      const retried = await retrySetAside(database, ids, clock.nowMs())
      if (retried > 0) onJournalled(retried)
      return retried
    },
    dropSetAside: (ids) => dropSetAside(database, ids),
  }
}
