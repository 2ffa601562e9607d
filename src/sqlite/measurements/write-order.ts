// The order in which a batch is written: by sensor, then time, then tie-break, so that rows next to
// each other in the tree are written one after the other. Measurements of a sensor mostly arrive in
// order of time, so they are grouped by sensor in linear time, and only sensors that are out of
// order are sorted.

import type { MeasurementColumns } from '../../domain/measurement-columns.ts'

/** The measurements of one sensor in a batch. */
export interface SensorRun {
  readonly sensorId: number
  /**
   * Indices into the columns, by (time, tie-break) ascending; equal ones in the order of arrival.
   */
  readonly indices: Uint32Array
}

/** The runs of a batch, by sensor. */
export function sensorRuns(columns: MeasurementColumns): SensorRun[] {
  const runs = emptyRuns(columns)
  const nextSlots = new Map(runs.map((run) => [run.sensorId, { indices: run.indices, slot: 0 }]))
  for (let index = 0; index < columns.count; index++) {
    const next = nextSlots.get(columns.sensorId[index] as number)
    if (next !== undefined) next.indices[next.slot++] = index
  }
  for (const run of runs) sortByTime(run.indices, columns)
  return runs
}

function emptyRuns(columns: MeasurementColumns): SensorRun[] {
  const counts = new Map<number, number>()
  for (let index = 0; index < columns.count; index++) {
    const sensorId = columns.sensorId[index] as number
    counts.set(sensorId, (counts.get(sensorId) ?? 0) + 1)
  }
  return [...counts]
    .toSorted(([a], [b]) => a - b)
    .map(([sensorId, count]) => ({ sensorId, indices: new Uint32Array(count) }))
}

function sortByTime(indices: Uint32Array, columns: MeasurementColumns): void {
  const compare = (a: number, b: number): number =>
    (columns.measuredAtMs[a] as number) - (columns.measuredAtMs[b] as number) ||
    (columns.tieBreakNs[a] as number) - (columns.tieBreakNs[b] as number) ||
    a - b
  for (let at = 1; at < indices.length; at++) {
    if (compare(indices[at - 1] as number, indices[at] as number) > 0) {
      indices.sort(compare)
      return
    }
  }
}
