// Summaries of one sensor's measurements: of windows of any length, and of a whole range with any
// ends; and the last measurement of a range. They read the coarsest windows that fit, which every
// store has.

import { foldWindows } from '../domain/history.ts'
import type { RawPoint, SeriesRange, WindowSummary } from '../domain/history.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, ceilToWindow, floorToWindow } from '../domain/time.ts'
import type { TimeRange } from '../domain/time.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'
import { hasLocalDays } from './buckets.ts'
import { LocalDays } from './local-days.ts'
import { readLocalDays } from './read-local-days.ts'
import { summarize } from './summarize.ts'

/** Windows that every store can read, coarsest first. */
const STORED_WINDOWS_MS: readonly number[] = [
  DAY_MS,
  HOUR_MS,
  15 * MINUTE_MS,
  5 * MINUTE_MS,
  MINUTE_MS,
]

/** A range with any ends consists of these, and of measurements at its ends. */
const STRETCH_WINDOWS_MS: readonly number[] = [DAY_MS, HOUR_MS, MINUTE_MS]

export interface Windows {
  readonly windowMs: number
  /** For windows of a day; others are the same in all zones. */
  readonly timeZone: string
}

/** A part of a range that is read from windows of one length, or from measurements. */
interface Stretch extends TimeRange {
  readonly windowMs: number | undefined
}

/**
 * One summary for each window that has measurements.
 *
 * @param series its ends are on the grid of the windows
 */
export function readSummaries(
  reader: MeasurementReader,
  series: SeriesRange,
  { windowMs, timeZone }: Windows,
): AsyncIterable<readonly WindowSummary[]> {
  if (hasLocalDays(windowMs, timeZone)) {
    return readLocalDays(reader, series, new LocalDays(timeZone))
  }
  const storedMs = storedWindowMs(windowMs)
  if (storedMs === windowMs) return reader.readWindows(series, windowMs)
  return foldWindows(readStretch(reader, series, storedMs), (atMs) => floorToWindow(atMs, windowMs))
}

/** The stored windows that others are folded from; `undefined`: only measurements do. */
export function storedWindowMs(windowMs: number): number | undefined {
  return STORED_WINDOWS_MS.find((storedMs) => windowMs % storedMs === 0)
}

/** The summary of all measurements of a range, `undefined` if there are none. */
export async function readTotal(
  reader: MeasurementReader,
  series: SeriesRange,
): Promise<WindowSummary | undefined> {
  const { sensorId, startMs } = series
  let total: WindowSummary | undefined
  for await (const [summary] of foldWindows(readStretches(reader, sensorId, series), () => startMs))
    total = summary
  return total
}

/** The last measurement of a range, `undefined` if there is none. */
export async function readLast(
  reader: MeasurementReader,
  series: SeriesRange,
  windowsMs = STRETCH_WINDOWS_MS,
): Promise<RawPoint | undefined> {
  const { sensorId } = series
  for (const stretch of [...stretchesOf(series, windowsMs)].toReversed()) {
    const { windowMs } = stretch
    const part = { ...stretch, sensorId }
    if (windowMs === undefined) {
      const last = await lastOf(reader.readRaw(part))
      if (last !== undefined) return last
      continue
    }
    const last = await lastOf(reader.readWindows(part, windowMs))
    if (last === undefined) continue
    const { startMs } = last
    const finer = windowsMs.filter((finerMs) => finerMs < windowMs)
    return readLast(reader, { sensorId, startMs, stopMs: startMs + windowMs }, finer)
  }
  return undefined
}

async function lastOf<T>(chunks: AsyncIterable<readonly T[]>): Promise<T | undefined> {
  let last: T | undefined
  for await (const chunk of chunks) last = chunk.at(-1) ?? last
  return last
}

async function* readStretches(
  reader: MeasurementReader,
  sensorId: number,
  range: TimeRange,
): AsyncIterable<readonly WindowSummary[]> {
  for (const stretch of stretchesOf(range, STRETCH_WINDOWS_MS)) {
    yield* readStretch(reader, { ...stretch, sensorId }, stretch.windowMs)
  }
}

function readStretch(
  reader: MeasurementReader,
  series: SeriesRange,
  windowMs: number | undefined,
): AsyncIterable<readonly WindowSummary[]> {
  return windowMs === undefined
    ? summarize(reader.readRaw(series))
    : reader.readWindows(series, windowMs)
}

/** The range in ascending parts, each of the coarsest windows that fit into it. */
function* stretchesOf(
  { startMs, stopMs }: TimeRange,
  [windowMs, ...finer]: readonly number[],
): Iterable<Stretch> {
  if (startMs >= stopMs) return
  if (windowMs === undefined) {
    yield { startMs, stopMs, windowMs }
    return
  }
  const firstMs = ceilToWindow(startMs, windowMs)
  const lastMs = floorToWindow(stopMs, windowMs)
  if (firstMs >= lastMs) {
    yield* stretchesOf({ startMs, stopMs }, finer)
    return
  }
  yield* stretchesOf({ startMs, stopMs: firstMs }, finer)
  yield { startMs: firstMs, stopMs: lastMs, windowMs }
  yield* stretchesOf({ startMs: lastMs, stopMs }, finer)
}
