// Summaries of windows of any length. They read the coarsest windows that fit, which every store
// has.

import { foldWindows } from '../domain/history.ts'
import type { SeriesRange, WindowSummary } from '../domain/history.ts'
import { summarize } from '../domain/summarize.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, floorToWindow } from '../domain/time.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'
import { hasLocalDays } from './buckets.ts'
import { LocalDays } from './local-days.ts'
import { readLocalDays } from './read-local-days.ts'

/** Windows that every store can read, coarsest first. */
const STORED_WINDOWS_MS: readonly number[] = [
  DAY_MS,
  HOUR_MS,
  15 * MINUTE_MS,
  5 * MINUTE_MS,
  MINUTE_MS,
]

export interface Windows {
  readonly windowMs: number
  /** For windows of a day; others are the same in all zones. */
  readonly timeZone: string
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
  const fine =
    storedMs === undefined
      ? summarize(reader.readRaw(series))
      : reader.readWindows(series, storedMs)
  return foldWindows(fine, (atMs) => floorToWindow(atMs, windowMs))
}

/** The stored windows that others are folded from; `undefined`: only measurements do. */
export function storedWindowMs(windowMs: number): number | undefined {
  return STORED_WINDOWS_MS.find((storedMs) => windowMs % storedMs === 0)
}
