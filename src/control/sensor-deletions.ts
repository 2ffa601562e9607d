// Deleted sensors whose measurements are still in the store, or might reappear, as rows.

import type { SensorDeletion } from '../ports/store-upkeep.ts'
import { rows } from './flow.ts'
import type { Flow, Value } from './flow.ts'

const DUE = `
  SELECT user_id AS "userId", sensor_id AS "sensorId", start_ms AS "startMs", stop_ms AS "stopMs",
    passes
  FROM sensor_deletions d WHERE due_at_ms <= $1 AND`

interface DeletionRow extends Omit<SensorDeletion, 'range'> {
  readonly startMs: number
  readonly stopMs: number
}

/** @param isForwarded SQL: whether all rows of a sensor are forwarded, and the order */
export function* listDueDeletions(
  isForwarded: string,
  nowMs: number,
  ...values: readonly Value[]
): Flow<readonly SensorDeletion[]> {
  const found = yield* rows<DeletionRow>(`${DUE} ${isForwarded} LIMIT 100`, nowMs, ...values)
  return found.map(({ startMs, stopMs, ...deletion }) => {
    return { ...deletion, range: { startMs, stopMs } }
  })
}
