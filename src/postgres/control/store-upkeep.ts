// StoreRecords and StoreUpkeep on PostgreSQL: which measurement store is in use, and what it has
// refused.

import type { SensorInfo } from '../../ports/measurement-store.ts'
import type { StoreRecords, StoreSwitch, StoreUpkeep } from '../../ports/store-upkeep.ts'
import type { Clock } from '../../ports/system.ts'
import { bucketOf } from '../bucket.ts'
import type { Database } from '../database.ts'
import { dropSetAside, retrySetAside } from './set-aside.ts'

const STORE = 'SELECT name FROM measurement_store'
const ADOPT_STORE = `
  INSERT INTO measurement_store (name) VALUES ($1)
  ON CONFLICT (one) DO UPDATE SET name = excluded.name
  WHERE NOT EXISTS (SELECT 1 FROM accepted_per_day)
    AND NOT EXISTS (SELECT 1 FROM sensor_deletions)`
const SWITCH_STORE = 'UPDATE measurement_store SET name = $1 WHERE name = $2'
const INSERT_DELETION = `
  INSERT INTO sensor_deletions (bucket, sensor_id, user_id, start_ms, stop_ms, heads, due_at_ms)
  VALUES ($1, $2, $3, $4, $5, '', $6)`
const LIVE_SENSORS = `
  SELECT user_id AS "userId", id AS "sensorId", info_at_ms AS "atMs",
    serial_number AS "serialNumber", alias, compensation_celsius AS "compensationCelsius"
  FROM sensors WHERE deleted_at_ms IS NULL ORDER BY id`
const OWNER_OF_DELETED = `
  SELECT user_id AS "userId" FROM sensors WHERE id = $1::bigint AND deleted_at_ms IS NOT NULL`

export class PostgresStoreRecords implements StoreRecords {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async readStoreName(): Promise<string | undefined> {
    const [row] = await this.#database.rows<{ name: string }>(STORE)
    return row?.name
  }

  listSensorInfos(): Promise<readonly SensorInfo[]> {
    return this.#database.rows<SensorInfo>(LIVE_SENSORS)
  }

  async findOwnerOfDeleted(sensorId: number): Promise<number | undefined> {
    const [row] = await this.#database.rows<{ userId: number }>(OWNER_OF_DELETED, [sensorId])
    return row?.userId
  }
}

/** @param onJournalled told of new journal rows, with how many measurements they have */
export function createStoreUpkeep(
  database: Database,
  clock: Clock,
  onJournalled: (measurements: number) => void,
): StoreUpkeep {
  return {
    adoptStore: async (name) => {
      await database.change(ADOPT_STORE, [name])
      const [row] = await database.rows<{ name: string }>(STORE)
      return row?.name ?? name
    },
    switchStore: (change) => switchStore(database, change, clock.nowMs()),
    retrySetAside: async (ids) => {
      const retried = await retrySetAside(database, ids, clock.nowMs())
      if (retried > 0) onJournalled(retried)
      return retried
    },
    dropSetAside: (ids) => dropSetAside(database, ids),
  }
}

function switchStore(
  database: Database,
  { from, to, leftovers }: StoreSwitch,
  nowMs: number,
): Promise<boolean> {
  return database.transaction(async (sql) => {
    if ((await sql.change(SWITCH_STORE, [to, from])) === 0) return false
    for (const { userId, sensorId, range } of leftovers) {
      const job = [bucketOf(userId), sensorId, userId, range.startMs, range.stopMs, nowMs]
      await sql.change(INSERT_DELETION, job)
    }
    return true
  })
}
