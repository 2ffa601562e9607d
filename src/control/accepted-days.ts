// Number of measurements accepted per sensor and UTC day, kept apart from the measurement store, to
// know what it must contain.

import { DAY_MS } from '../domain/time.ts'
import type { TimeRange } from '../domain/time.ts'
import type { AcceptedDay } from '../ports/control-reader.ts'
import { counted, rows } from './flow.ts'
import type { Flow } from './flow.ts'

const OF_SENSORS = `
  FROM accepted_per_day d JOIN sensors s ON s.id = d.sensor_id
  WHERE s.id`
const TOTAL = `
  SELECT CAST(coalesce(sum(d.measurements), 0) AS bigint) AS count
  ${OF_SENSORS} = ANY ($1::bigint[])`
const DAYS = `
  SELECT d.day, d.measurements ${OF_SENSORS} = CAST($1 AS bigint) AND d.day >= $2 AND d.day < $3
  ORDER BY d.day`

/** The days in the range, ascending; days without measurements are left out. */
export function* listAcceptedDays(
  sensorId: number,
  { startMs, stopMs }: TimeRange,
): Flow<readonly AcceptedDay[]> {
  const days = [Math.floor(startMs / DAY_MS), Math.ceil(stopMs / DAY_MS)]
  const found = yield* rows<{ day: number; measurements: number }>(DAYS, sensorId, ...days)
  return found.map(({ day, measurements }) => ({ dayMs: day * DAY_MS, measurements }))
}

/** Of all days. */
export function* countMeasurements(sensorIds: readonly number[]): Flow<number> {
  return yield* counted(TOTAL, sensorIds)
}
