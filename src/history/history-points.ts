// Turns stored data into the points of a response: compensated, averaged, gaps filled on request.

import { setImmediate } from 'node:timers/promises'
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

/** Points of a chunk; other work runs between chunks. */
const CHUNK_POINTS = 1_000

/** Nine decimals of a sum; the order of addition affects only later ones. */
const SUM_DECIMALS = 1_000_000_000

/** The points of a response in ascending order, in chunks, read as they are consumed. */
function historyPoints(
  reader: MeasurementReader,
  sensor: Sensor,
  question: ResolvedQuestion,
): AsyncIterable<readonly HistoryPoint[]> {
  const { bucket } = question
  const series = seriesOf([sensor], question)
  if (bucket !== 'raw') {
    return bucketPoints(readBuckets(reader, series, question, bucket), sensor, question, bucket)
  }
  const { compensationCelsius } = sensor
  return mapEach(reader.readRaw(series), (raw) => measurementPoint(raw, compensationCelsius))
}

/**
 * The same of several sensors, in their order, from one question to the store: what it answers is
 * kept until the points are taken. Measurements can be too many for that, and are read one sensor
 * after another.
 *
 * @param question of at most `seriesBucketsMax` buckets of all sensors
 */
export async function historiesPoints(
  reader: MeasurementReader,
  sensors: readonly Sensor[],
  question: ResolvedQuestion,
): Promise<readonly AsyncIterable<readonly HistoryPoint[]>[]> {
  const { bucket } = question
  if (bucket === 'raw' || sensors.length === 1) {
    return sensors.map((sensor) => historyPoints(reader, sensor, question))
  }
  const ofSensors = new Map(sensors.map(({ id }) => [id, [] as WindowSummary[]]))
  for await (const chunk of readBuckets(reader, seriesOf(sensors, question), question, bucket)) {
    for (const summary of chunk) ofSensors.get(summary.sensorId)?.push(summary)
  }
  return sensors.map((sensor) => {
    const summaries = inChunks(ofSensors.get(sensor.id) ?? [])
    return bucketPoints(summaries, sensor, question, bucket)
  })
}

function seriesOf(sensors: readonly Sensor[], { fromMs, toMs }: ResolvedQuestion): SeriesRange {
  return { sensorIds: sensors.map(({ id }) => id), startMs: fromMs, stopMs: toMs }
}

function readBuckets(
  reader: MeasurementReader,
  series: SeriesRange,
  { timeZone }: ResolvedQuestion,
  bucket: keyof typeof WINDOW_MS,
): AsyncIterable<readonly WindowSummary[]> {
  return readSummaries(reader, series, { windowMs: WINDOW_MS[bucket], timeZone })
}

function bucketPoints(
  summaries: AsyncIterable<readonly WindowSummary[]>,
  { compensationCelsius }: Sensor,
  { isFilled, timeZone, fromMs: startMs, toMs: stopMs }: ResolvedQuestion,
  bucket: keyof typeof WINDOW_MS,
): AsyncIterable<readonly BucketPoint[]> {
  const points = mapEach(summaries, (summary) => bucketPoint(summary, compensationCelsius))
  const grid = windowGrid(WINDOW_MS[bucket], timeZone)
  return isFilled ? fillGaps(points, grid, { startMs, stopMs }) : points
}

async function* inChunks<Item>(items: readonly Item[]): AsyncIterable<readonly Item[]> {
  for (let at = 0; at < items.length; at += CHUNK_POINTS) {
    yield items.slice(at, at + CHUNK_POINTS)
    await setImmediate()
  }
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
