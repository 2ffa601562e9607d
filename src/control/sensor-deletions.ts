// Deleted sensors whose measurements are still in the store, or might reappear, as rows.

import { sensorsOf, withoutSensors } from '../domain/measurement-columns.ts'
import type { JournalBatch } from '../ports/journal-queue.ts'
import type { SensorDeletion } from '../ports/store-upkeep.ts'
import { rows } from './flow.ts'
import type { Flow, Value } from './flow.ts'

const DUE = `
  SELECT user_id AS "userId", sensor_id AS "sensorId", start_ms AS "startMs", stop_ms AS "stopMs",
    passes
  FROM sensor_deletions d WHERE due_at_ms <= $1 AND`
const DELETED_AMONG = `
  SELECT id FROM sensors WHERE id = ANY ($1::bigint[]) AND deleted_at_ms IS NOT NULL`
const DELETED_IN_SHARD = `${DELETED_AMONG} AND shard = $2`

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

/**
 * The batch without deleted sensors, which must not be written again.
 *
 * @param shard of the batch, where there are any
 */
export function* withoutDeleted(batch: JournalBatch, shard?: number): Flow<JournalBatch> {
  const sensors = [...sensorsOf(batch)]
  const deleted = yield* shard === undefined
    ? rows<{ id: number }>(DELETED_AMONG, sensors)
    : rows<{ id: number }>(DELETED_IN_SHARD, sensors, shard)
  return withoutSensors(batch, new Set(deleted.map(({ id }) => id)))
}
