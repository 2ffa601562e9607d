// Which measurement store is in use, which sensors have measurements in it, and what the journal
// tells it about them.

import type { SensorInfo } from '../ports/measurement-store.ts'
import type { SensorDeletion, StoreSwitch } from '../ports/store-upkeep.ts'
import type { Clock } from '../ports/system.ts'
import { change, row, rows } from './flow.ts'
import type { Flow } from './flow.ts'

const STORE = 'SELECT name FROM measurement_store'
const SWITCH = 'UPDATE measurement_store SET name = $1 WHERE name = $2'
const LIVE_SENSORS = `
  SELECT user_id AS "userId", id AS "sensorId", info_at_ms AS "atMs",
    serial_number AS "serialNumber", alias, compensation_celsius AS "compensationCelsius"
  FROM sensors WHERE deleted_at_ms IS NULL ORDER BY id`
const OWNER_OF_DELETED = `
  SELECT user_id AS "userId" FROM sensors
  WHERE id = CAST($1 AS bigint) AND deleted_at_ms IS NOT NULL`

interface NewSensor extends Pick<SensorInfo, 'userId' | 'serialNumber' | 'alias'> {
  readonly id: number
  readonly createdAtMs: number
}

/** Where an engine's rows differ. */
export interface StoreRows {
  /** Records a store's name, unless another store has data. */
  readonly adoptStore: (name: string) => Flow<unknown>
  /** Deletes a sensor from the store without waiting for the journal. */
  readonly orderDeletion: (deletion: Omit<SensorDeletion, 'passes'>, nowMs: number) => Flow<unknown>
}

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

/** What a group's row tells the store about new sensors; `null`: there are none. */
export function encodeInfos(newSensors: readonly NewSensor[]): string | null {
  if (newSensors.length === 0) return null
  const infos = newSensors.map(({ id, userId, serialNumber, alias, createdAtMs }): SensorInfo => {
    const names = { serialNumber, alias, compensationCelsius: 0 }
    return { userId, sensorId: id, atMs: createdAtMs, ...names }
  })
  return JSON.stringify(infos)
}

export function decodeInfos(infos: string | null): readonly SensorInfo[] {
  return infos === null ? [] : (JSON.parse(infos) as SensorInfo[])
}

/** Changes of which store is in use, as calls of `StoreUpkeep`. */
export function storeWrites(clock: Clock, { adoptStore, orderDeletion }: StoreRows) {
  return {
    *adoptStore(name: string): Flow<string> {
      yield* adoptStore(name)
      return (yield* readStoreName()) ?? name
    },
    *switchStore({ from, to, leftovers }: StoreSwitch): Flow<boolean> {
      if ((yield* change(SWITCH, to, from)) === 0) return false
      for (const deletion of leftovers) yield* orderDeletion(deletion, clock.nowMs())
      return true
    },
  }
}
