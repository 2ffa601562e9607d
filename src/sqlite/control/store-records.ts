// Which measurement store is in use, and which sensors have measurements in it.

import { change, row, rows } from '../../control/flow.ts'
import type { Flow } from '../../control/flow.ts'
import type { SensorInfo } from '../../ports/measurement-store.ts'
import type { StoreSwitch } from '../../ports/store-upkeep.ts'
import type { Clock } from '../../ports/system.ts'

const STORE = 'SELECT name FROM measurement_store'
/** Unless another store has data. */
const ADOPT = `
  INSERT INTO measurement_store (id, name, since_seq)
  VALUES (1, $1, ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'journal'), 0))
  ON CONFLICT (id) DO UPDATE SET name = excluded.name, since_seq = excluded.since_seq
  WHERE name <> excluded.name AND NOT EXISTS (SELECT 1 FROM accepted_per_day)
    AND NOT EXISTS (SELECT 1 FROM sensor_deletions)`
const SWITCH = 'UPDATE measurement_store SET name = $1 WHERE name = $2'
/** Without waiting for the journal. */
const INSERT_DELETION = `
  INSERT INTO sensor_deletions (sensor_id, user_id, start_ms, stop_ms, after_seq, due_at_ms)
  VALUES ($1, $2, $3, $4, 0, $5)`
const LIVE_SENSORS = `
  SELECT user_id AS "userId", id AS "sensorId", info_at_ms AS "atMs",
    serial_number AS "serialNumber", alias, compensation_celsius AS "compensationCelsius"
  FROM sensors WHERE deleted_at_ms IS NULL ORDER BY id`
const OWNER_OF_DELETED = `
  SELECT user_id AS "userId" FROM sensors WHERE id = $1 AND deleted_at_ms IS NOT NULL`

function* readStoreName(): Flow<string | undefined> {
  return (yield* row<{ name: string }>(STORE))?.name
}

function* listSensorInfos(): Flow<readonly SensorInfo[]> {
  return yield* rows<SensorInfo>(LIVE_SENSORS)
}

function* findOwnerOfDeleted(sensorId: number): Flow<number | undefined> {
  return (yield* row<{ userId: number }>(OWNER_OF_DELETED, sensorId))?.userId
}

/** `StoreRecords`. */
export const STORE_RECORDS = { readStoreName, listSensorInfos, findOwnerOfDeleted }

/** `StoreChoice`. */
export function storeWrites(clock: Clock) {
  return {
    *adoptStore(name: string): Flow<string> {
      yield* change(ADOPT, name)
      return (yield* readStoreName()) ?? name
    },
    *switchStore({ from, to, leftovers }: StoreSwitch): Flow<boolean> {
      if ((yield* change(SWITCH, to, from)) === 0) return false
      for (const { sensorId, userId, range } of leftovers) {
        const { startMs, stopMs } = range
        yield* change(INSERT_DELETION, sensorId, userId, startMs, stopMs, clock.nowMs())
      }
      return true
    },
  }
}
