// Looks for measurements of sensors in what is still on its way.

import type { TimeRange } from './time.ts'

interface Columns {
  readonly sensorId: ArrayLike<number>
  readonly measuredAtMs: ArrayLike<number>
  readonly count: number
}

/** Takes out of `wanted` the sensors that have a measurement of the range in the columns. */
export function takeSensors(
  { sensorId, measuredAtMs, count }: Columns,
  wanted: Set<number>,
  { startMs, stopMs }: TimeRange,
): readonly number[] {
  const found: number[] = []
  for (let at = 0; at < count; at++) {
    const atMs = measuredAtMs[at] ?? 0
    const isMeant = atMs >= startMs && atMs < stopMs && wanted.delete(sensorId[at] ?? 0)
    if (isMeant) found.push(sensorId[at] ?? 0)
  }
  return found
}
