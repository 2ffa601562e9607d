// Which measurement store is in use, and which sensors have measurements in it.

import type { SensorInfo } from '../../ports/measurement-store.ts'
import type { StoreRecords } from '../../ports/store-upkeep.ts'
import type { Connection } from '../database.ts'

const STORE = 'SELECT name FROM measurement_store WHERE id = 1'
const LIVE_SENSORS = `
  SELECT user_id AS userId, id AS sensorId, info_at_ms AS atMs, serial_number AS serialNumber,
    alias, compensation_celsius AS compensationCelsius
  FROM sensors WHERE deleted_at_ms IS NULL ORDER BY id`
const OWNER_OF_DELETED = 'SELECT user_id FROM sensors WHERE id = ? AND deleted_at_ms IS NOT NULL'

export class StoreRows implements StoreRecords {
  readonly #db: Connection

  constructor(db: Connection) {
    this.#db = db
  }

  async readStoreName(): Promise<string | undefined> {
    return this.#db.prepare<[], string>(STORE).pluck().get()
  }

  async listSensorInfos(): Promise<readonly SensorInfo[]> {
    return this.#db.prepare<[], SensorInfo>(LIVE_SENSORS).all()
  }

  async findOwnerOfDeleted(sensorId: number): Promise<number | undefined> {
    return this.#db.prepare<[number], number>(OWNER_OF_DELETED).pluck().get(sensorId)
  }
}
