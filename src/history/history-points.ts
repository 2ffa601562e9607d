// Turns stored data into the points of a response: compensated, averaged, gaps filled on request.

import { WINDOW_MS } from '../domain/history.ts'
import type {
  BucketPoint,
  HistoryPoint,
  MeasurementPoint,
  RawPoint,
  ResolvedQuestion,
  SeriesRange,
  WindowSummary,
} from '../domain/history.ts'
import { compensate, roundCelsius } from '../domain/sensor.ts'
import type { Sensor } from '../domain/sensor.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'
import { windowGrid } from './buckets.ts'
import { fillGaps } from './fill-gaps.ts'
import { readSummaries } from './read-summaries.ts'

/** Nine decimals of a sum; the order of addition affects only later ones. */
const SUM_DECIMALS = 1_000_000_000

/** The points of a response in ascending order, in chunks, read as they are consumed. */
export function historyPoints(
  reader: MeasurementReader,
  sensor: Sensor,
  question: ResolvedQuestion,
): AsyncIterable<readonly HistoryPoint[]> {
  const { bucket, timeZone, fromMs, toMs } = question
  const { compensationCelsius } = sensor
  const series: SeriesRange = { sensorId: sensor.id, startMs: fromMs, stopMs: toMs }
  if (bucket === 'raw') {
    return mapEach(reader.readRaw(series), (raw) => measurementPoint(raw, compensationCelsius))
  }
  const summaries = readSummaries(reader, series, { windowMs: WINDOW_MS[bucket], timeZone })
  const points = mapEach(summaries, (summary) => bucketPoint(summary, compensationCelsius))
  return question.isFilled
    ? fillGaps(points, windowGrid(WINDOW_MS[bucket], timeZone), series)
    : points
}

async function* mapEach<From, To>(
  chunks: AsyncIterable<readonly From[]>,
  map: (from: From) => To,
): AsyncIterable<readonly To[]> {
  for await (const chunk of chunks) yield chunk.map(map)
}

function measurementPoint(raw: RawPoint, compensationCelsius: number): MeasurementPoint {
  return {
    measuredAtMs: raw.measuredAtMs,
    temp: compensate(raw.rawCelsius, compensationCelsius),
  }
}

function bucketPoint(summary: WindowSummary, compensationCelsius: number): BucketPoint {
  return {
    startMs: summary.startMs,
    temp: meanCelsius(summary, compensationCelsius),
    min: compensate(summary.min, compensationCelsius),
    max: compensate(summary.max, compensationCelsius),
    count: summary.count,
  }
}

/** The compensated mean. @param summary not empty */
export function meanCelsius(
  { sum, count }: Pick<WindowSummary, 'sum' | 'count'>,
  compensationCelsius: number,
): number {
  return roundCelsius(steadySum(sum) / count + compensationCelsius)
}

/**
 * Decimal values have a decimal sum. Rounding off the noise of binary addition makes it
 * independent of the order in which the values arrived.
 */
export function steadySum(sum: number): number {
  const scaled = sum * SUM_DECIMALS
  const isExact = Math.abs(scaled) < Number.MAX_SAFE_INTEGER
  return isExact ? Math.round(scaled) / SUM_DECIMALS : sum
}
