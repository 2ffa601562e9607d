// Turns stored data into the points of a response: compensated, averaged, gaps filled on request.

import { setImmediate } from 'node:timers/promises'
import { countMeasurements, WINDOW_MS } from '../domain/history.ts'
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

/** Points of several sensors that are kept until a client has read them, who may be slow: 1 MB. */
const KEPT_POINTS_MAX = 5_000

/** Nine decimals of a sum; the order of addition affects only later ones. */
const SUM_DECIMALS = 1_000_000_000

/**
 * The points of a response in ascending order, in chunks, for each sensor. Sensors with few points
 * are one question to the store, asked when the first of them is consumed; more are several. Those
 * of a single sensor are read as they are consumed.
 */
export async function historiesPoints(
  reader: MeasurementReader,
  sensors: readonly Sensor[],
  question: ResolvedQuestion,
): Promise<readonly AsyncIterable<readonly HistoryPoint[]>[]> {
  const { bucket, timeZone } = question
  const compensations = sensors.map(({ compensationCelsius }) => compensationCelsius)
  if (bucket === 'raw') {
    const read = (of: readonly Sensor[]) => reader.readRaw(seriesOf(of, question))
    const isKept = sensors.length > 1 && (await areFew(reader, seriesOf(sensors, question)))
    return readApart(sensors, read, isKept ? sensors.length : 1).map((raw, at) =>
      mapEach(raw, (point) => measurementPoint(point, compensations[at] ?? 0)),
    )
  }
  const windows = { windowMs: WINDOW_MS[bucket], timeZone }
  const range = seriesOf(sensors, question)
  const grid = windowGrid(windows.windowMs, timeZone)
  const read = (of: readonly Sensor[]) => readSummaries(reader, seriesOf(of, question), windows)
  const sensorsAtOnce = Math.max(1, Math.floor(KEPT_POINTS_MAX / grid.countOf(range)))
  return readApart(sensors, read, sensorsAtOnce).map((summaries, at) => {
    const points = mapEach(summaries, (summary) => bucketPoint(summary, compensations[at] ?? 0))
    return question.isFilled ? fillGaps(points, grid, range) : points
  })
}

function seriesOf(sensors: readonly Sensor[], { fromMs, toMs }: ResolvedQuestion): SeriesRange {
  return { sensorIds: sensors.map(({ id }) => id), startMs: fromMs, stopMs: toMs }
}

/** Whether measurements are few enough to be kept. */
async function areFew(reader: MeasurementReader, series: SeriesRange): Promise<boolean> {
  const totals = reader.readTotals({ ...series, needed: new Set() })
  return (await countMeasurements(totals)) <= KEPT_POINTS_MAX
}

/** What is read of each sensor, in their order. */
function readApart<Stored extends { readonly sensorId: number }>(
  sensors: readonly Sensor[],
  read: (of: readonly Sensor[]) => AsyncIterable<readonly Stored[]>,
  sensorsAtOnce: number,
): readonly AsyncIterable<readonly Stored[]>[] {
  if (sensorsAtOnce === 1 || sensors.length === 1) return sensors.map((sensor) => read([sensor]))
  const parts = Math.ceil(sensors.length / sensorsAtOnce)
  return Array.from({ length: parts }, (_, at) => {
    const part = sensors.slice(at * sensorsAtOnce, (at + 1) * sensorsAtOnce)
    let kept: Promise<ReadonlyMap<number, readonly Stored[]>> | undefined
    return part.map(({ id }) => {
      return inChunks(async () => (await (kept ??= readTogether(part, read))).get(id) ?? [])
    })
  }).flat()
}

async function readTogether<Stored extends { readonly sensorId: number }>(
  sensors: readonly Sensor[],
  read: (of: readonly Sensor[]) => AsyncIterable<readonly Stored[]>,
): Promise<ReadonlyMap<number, readonly Stored[]>> {
  const kept = new Map(sensors.map(({ id }) => [id, [] as Stored[]]))
  for await (const chunk of read(sensors)) {
    for (const stored of chunk) kept.get(stored.sensorId)?.push(stored)
  }
  return kept
}

async function* inChunks<Item>(
  readAll: () => Promise<readonly Item[]>,
): AsyncIterable<readonly Item[]> {
  const items = await readAll()
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
