// Cuts a range with any ends into parts for which there are summaries.

import { ceilToWindow, floorToWindow } from './time.ts'
import type { TimeRange } from './time.ts'

/** A part of a range that is read from windows of one length, or from measurements. */
export interface Stretch extends TimeRange {
  readonly windowMs: number | undefined
}

/**
 * The range in ascending parts, each of the coarsest windows that fit into it.
 *
 * @param windowsMs coarsest first, each a multiple of the next
 */
export function* stretchesOf(
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
