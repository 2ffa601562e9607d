// Summaries of a zone's calendar days, folded from the coarsest windows that align with the day:
// hours nearly everywhere, quarters of an hour for half-hour zones, minutes and single measurements
// for the odd offsets of the past.

import { lastAtOrBefore } from '../domain/ascending.ts'
import { foldWindows } from '../domain/history.ts'
import { summarize } from '../domain/summarize.ts'
import type { SeriesRange, WindowSummary } from '../domain/history.ts'
import { DAY_MS, ceilToWindow, floorToWindow } from '../domain/time.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'
import type { LocalDays } from './local-days.ts'

/** Days listed at a time; listing a thousand takes a few milliseconds. */
const STRETCH_DAYS_MAX = 1_000

/**
 * One summary per day that has measurements.
 *
 * @param series its ends are edges of days
 */
export async function* readLocalDays(
  reader: MeasurementReader,
  series: SeriesRange,
  days: LocalDays,
): AsyncIterable<readonly WindowSummary[]> {
  const known = await withoutEmptyEnds(reader, series, days)
  for (const stretch of days.stretches(known, STRETCH_DAYS_MAX)) {
    const { startMs, stopMs, windowMs, daysMs } = stretch
    const part = { ...series, startMs, stopMs }
    const fine =
      windowMs === undefined ? summarize(reader.readRaw(part)) : reader.readWindows(part, windowMs)
    yield* foldWindows(fine, (atMs) => daysMs[lastAtOrBefore(daysMs, atMs)] ?? startMs)
  }
}

/** Cuts a long range to the days with data: years 1 to 9999 have many days to list. */
async function withoutEmptyEnds(
  reader: MeasurementReader,
  series: SeriesRange,
  days: LocalDays,
): Promise<SeriesRange> {
  if (series.stopMs - series.startMs <= STRETCH_DAYS_MAX * DAY_MS) return series
  const startMs = floorToWindow(series.startMs, DAY_MS)
  const stopMs = ceilToWindow(series.stopMs, DAY_MS)
  let firstMs = stopMs
  let lastMs = startMs
  for await (const chunk of reader.readWindows({ ...series, startMs, stopMs }, DAY_MS)) {
    for (const day of chunk) {
      firstMs = Math.min(firstMs, day.startMs)
      lastMs = Math.max(lastMs, day.startMs)
    }
  }
  if (firstMs > lastMs) return { ...series, stopMs: series.startMs }
  return {
    ...series,
    startMs: Math.max(series.startMs, days.startOf(firstMs)),
    stopMs: Math.min(series.stopMs, days.stopOf(lastMs + DAY_MS - 1)),
  }
}
