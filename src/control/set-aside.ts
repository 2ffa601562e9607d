// Measurements that the store refuses permanently, as rows: kept until an operator retries or drops
// them. Until then they count as unreadable.

import type { TimeRange } from '../domain/time.ts'
import type { SetAsideMeasurement } from '../ports/store-upkeep.ts'
import { counted, rows } from './flow.ts'
import type { Flow } from './flow.ts'

export const SET_ASIDE_COLUMNS = `
  id, user_id AS "userId", sensor_id AS "sensorId", measured_at_ms AS "measuredAtMs",
  tie_break_ns AS "tieBreakNs", temp_celsius AS "tempCelsius", reason,
  set_aside_at_ms AS "setAsideAtMs"`
const LIST = `SELECT ${SET_ASIDE_COLUMNS} FROM set_aside WHERE id > $1 ORDER BY id LIMIT $2`
const COUNT = 'SELECT count(*) AS count FROM set_aside'
// Usually nothing is set aside at all.
const AMONG = `
  SELECT DISTINCT sensor_id AS id FROM set_aside
  WHERE EXISTS (SELECT 1 FROM set_aside)
    AND sensor_id = ANY ($1::bigint[]) AND measured_at_ms >= $2 AND measured_at_ms < $3`

/** In the order in which they were set aside, starting after `afterId`. */
export function* listSetAside(
  afterId: number,
  limit: number,
): Flow<readonly SetAsideMeasurement[]> {
  return yield* rows<SetAsideMeasurement>(LIST, afterId, limit)
}

export function* countSetAside(): Flow<number> {
  return yield* counted(COUNT)
}

/** The sensors with set-aside measurements in the range. */
export function* sensorsSetAside(
  ids: readonly number[],
  { startMs, stopMs }: TimeRange,
): Flow<readonly number[]> {
  const found = yield* rows<{ id: number }>(AMONG, ids, startMs, stopMs)
  return found.map(({ id }) => id)
}

export function* hasSetAside(sensorId: number, range: TimeRange): Flow<boolean> {
  return (yield* sensorsSetAside([sensorId], range)).length > 0
}
