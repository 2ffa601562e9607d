// A batch without the measurements of certain sensors: deleted ones must not be written again.

import type { JournalBatch } from '../../ports/journal-queue.ts'
import type { MeasurementColumns } from '../../ports/measurement-store.ts'

/** The batch itself if it has none of them. */
export function withoutSensors(
  batch: JournalBatch,
  isMeant: (sensorId: number) => boolean,
): JournalBatch {
  const { measurements, sensorInfos, place } = batch
  const ids = new Set(measurements.sensorId.subarray(0, measurements.count))
  for (const { sensorId } of sensorInfos) ids.add(sensorId)
  const meant = new Set([...ids].filter(isMeant))
  if (meant.size === 0) return batch
  return {
    place,
    measurements: keep(measurements, (at) => !meant.has(measurements.sensorId[at] ?? 0)),
    sensorInfos: sensorInfos.filter(({ sensorId }) => !meant.has(sensorId)),
  }
}

function keep(columns: MeasurementColumns, isKept: (at: number) => boolean): MeasurementColumns {
  const kept = Array.from({ length: columns.count }, (_, at) => at).filter(isKept)
  const pick = <Column extends Uint32Array | Float64Array>(column: Column, target: Column) => {
    kept.forEach((at, place) => (target[place] = column[at] ?? 0))
    return target
  }
  const words = () => new Uint32Array(kept.length)
  const doubles = () => new Float64Array(kept.length)
  return {
    count: kept.length,
    userId: pick(columns.userId, words()),
    sensorId: pick(columns.sensorId, words()),
    tieBreakNs: pick(columns.tieBreakNs, words()),
    measuredAtMs: pick(columns.measuredAtMs, doubles()),
    tempCelsius: pick(columns.tempCelsius, doubles()),
  }
}
