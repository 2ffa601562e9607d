// Exports the measurements of sensors as CSV (RFC 4180) or NDJSON, as submitted, by sensor and
// time, and in order of acceptance where times are equal. Reads and writes pieces of a few
// thousand, in bounded memory. A number is written as the shortest text that reads back as the same
// number, so an import stores exactly what was exported.

import type { RawPoint } from '../domain/history.ts'
import type { Sensor } from '../domain/sensor.ts'
import { DAY_MS, floorToWindow, formatInstant } from '../domain/time.ts'
import type { TimeRange } from '../domain/time.ts'
import type { AcceptedDay } from '../ports/control-reader.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'

export type ExportFormat = 'csv' | 'ndjson'

/** A sensor, and its measurements in the exported period. */
export interface ExportedSensor {
  readonly sensor: Sensor
  /** UTC days that have measurements, in ascending order, with the number accepted on each. */
  readonly days: readonly AcceptedDay[]
}

export interface ExportOrder {
  readonly sensors: readonly ExportedSensor[]
  readonly range: TimeRange
  readonly format: ExportFormat
}

/** Requested from the store in one query. */
const PART_MS = 30 * DAY_MS

/**
 * The whole text, in pieces.
 *
 * @param onMeasurements called with the number of measurements in each piece
 * @throws ServiceError `history_unavailable` if the store is unreachable
 */
export async function* exportText(
  reader: Pick<MeasurementReader, 'readRaw'>,
  { sensors, range, format }: ExportOrder,
  onMeasurements: (measurements: number) => void,
): AsyncGenerator<string> {
  if (format === 'csv') yield 'timestamp,sn,temp\r\n'
  const write = format === 'csv' ? csvText : ndjsonText
  for (const { sensor, days } of sensors) {
    for (const part of partsOf(days, range)) {
      for await (const points of reader.readRaw({ sensorIds: [sensor.id], ...part })) {
        yield write(sensor.serialNumber, points)
        onMeasurements(points.length)
      }
    }
  }
}

/** The parts of the range that have measurements. */
function partsOf(days: ExportedSensor['days'], range: TimeRange): TimeRange[] {
  const starts = new Set(days.map(({ dayMs }) => floorToWindow(dayMs, PART_MS)))
  return [...starts]
    .map((startMs) => ({
      startMs: Math.max(startMs, range.startMs),
      stopMs: Math.min(startMs + PART_MS, range.stopMs),
    }))
    .filter(({ startMs, stopMs }) => startMs < stopMs)
}

// Serial numbers contain no character that would need quoting in either format.
function csvText(serialNumber: string, points: readonly RawPoint[]): string {
  let text = ''
  for (const { measuredAtMs, rawCelsius } of points) {
    text += `${formatInstant(measuredAtMs)},${serialNumber},${rawCelsius}\r\n`
  }
  return text
}

function ndjsonText(serialNumber: string, points: readonly RawPoint[]): string {
  let text = ''
  for (const { measuredAtMs, rawCelsius } of points) {
    const timestamp = formatInstant(measuredAtMs)
    text += `{"timestamp":"${timestamp}","sn":"${serialNumber}","temp":${rawCelsius}}\n`
  }
  return text
}
