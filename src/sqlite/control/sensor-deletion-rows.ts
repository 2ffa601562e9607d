// Reads which deleted sensors still have measurements in the store.

import type { SensorDeletion } from '../../ports/store-upkeep.ts'
import type { Connection } from '../database.ts'

interface Row {
  userId: number
  sensorId: number
  startMs: number
  stopMs: number
  passes: number
}

const DUE = `
  SELECT user_id AS userId, sensor_id AS sensorId, start_ms AS startMs, stop_ms AS stopMs, passes
  FROM sensor_deletions WHERE after_seq <= ? AND due_at_ms <= ? ORDER BY sensor_id LIMIT 100`
const COUNT = 'SELECT count(*) FROM sensor_deletions'
const IS_DELETED = 'SELECT deleted_at_ms IS NOT NULL FROM sensors WHERE id = ?'

export class SensorDeletionRows {
  readonly #due
  readonly #count
  readonly #isDeleted

  constructor(db: Connection) {
    this.#due = db.prepare<[number, number], Row>(DUE)
    this.#count = db.prepare<[], number>(COUNT).pluck()
    this.#isDeleted = db.prepare<[number], number>(IS_DELETED).pluck()
  }

  /** Deletions that are due, of sensors that have no journal rows after `forwardedSeq`. */
  due(forwardedSeq: number, nowMs: number): SensorDeletion[] {
    return this.#due.all(forwardedSeq, nowMs).map(({ startMs, stopMs, ...deletion }) => ({
      ...deletion,
      range: { startMs, stopMs },
    }))
  }

  /** Deletions that are not complete. */
  count(): number {
    return this.#count.get() ?? 0
  }

  isDeleted(sensorId: number): boolean {
    return this.#isDeleted.get(sensorId) === 1
  }
}
