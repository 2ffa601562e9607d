// Exporting: the measurements of sensors as CSV (RFC 4180) or NDJSON, as they were submitted, by
// sensor and in the order of their times, those of one time in the order of their acceptance. Read
// and handed out in pieces of a few thousand, in bounded memory. A number is written as the
// shortest text that is read as the same number again, so an import stores what was exported.

import type { RawPoint } from '../domain/history.ts'
import type { Sensor } from '../domain/sensor.ts'
import { DAY_MS, floorToWindow, formatInstant } from '../domain/time.ts'
import type { TimeRange } from '../domain/time.ts'
import type { AcceptedDay } from '../ports/control-reader.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'

export type ExportFormat = 'csv' | 'ndjson'

/** A sensor, and what there is of it in the period that is exported. */
export interface ExportedSensor {
  readonly sensor: Sensor
  /** UTC days that have measurements, in ascending order, and how many were accepted. */
  readonly days: readonly AcceptedDay[]
}

export interface ExportOrder {
  readonly sensors: readonly ExportedSensor[]
  readonly range: TimeRange
  readonly format: ExportFormat
}

/** Asked of the store at once. */
const PART_MS = 30 * DAY_MS

/**
 * The whole text, in pieces.
 *
 * @param onMeasurements told how many are in each piece
 * @throws ServiceError `history_unavailable` when the store is out of reach
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
      for await (const points of reader.readRaw({ sensorId: sensor.id, ...part })) {
        yield write(sensor.serialNumber, points)
        onMeasurements(points.length)
      }
    }
  }
}

/** The stretches of the range in which there is something. */
function partsOf(days: ExportedSensor['days'], range: TimeRange): TimeRange[] {
  const starts = new Set(days.map(({ dayMs }) => floorToWindow(dayMs, PART_MS)))
  return [...starts]
    .map((startMs) => ({
      startMs: Math.max(startMs, range.startMs),
      stopMs: Math.min(startMs + PART_MS, range.stopMs),
    }))
    .filter(({ startMs, stopMs }) => startMs < stopMs)
}

// A serial number has no character that either form would have to quote.
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
