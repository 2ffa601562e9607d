// Lists the empty buckets too, so that a chart shows a gap as a gap.

import { setImmediate } from 'node:timers/promises'
import type { BucketPoint } from '../domain/history.ts'
import type { TimeRange } from '../domain/time.ts'
import type { BucketGrid } from './buckets.ts'

/** Local days are expensive to compute; other work runs between chunks of this many points. */
const CHUNK_POINTS = 500

/**
 * Adds an empty point for each bucket of the range that has none.
 *
 * @param chunks ascending points, each at the start of a bucket of `grid`
 * @param range its ends are edges of buckets; at most `filledPointsMax` of them
 */
export async function* fillGaps(
  chunks: AsyncIterable<readonly BucketPoint[]>,
  grid: BucketGrid,
  range: TimeRange,
): AsyncIterable<readonly BucketPoint[]> {
  let filled: BucketPoint[] = []
  for await (const point of withEmptyOnes(chunks, grid, range)) {
    filled.push(point)
    if (filled.length < CHUNK_POINTS) continue
    yield filled
    filled = []
    await setImmediate()
  }
  if (filled.length > 0) yield filled
}

async function* withEmptyOnes(
  chunks: AsyncIterable<readonly BucketPoint[]>,
  grid: BucketGrid,
  range: TimeRange,
): AsyncIterable<BucketPoint> {
  let nextMs = range.startMs
  for await (const chunk of chunks) {
    for (const point of chunk) {
      for (; nextMs < point.startMs; nextMs = grid.stopOf(nextMs)) yield emptyPoint(nextMs)
      yield point
      nextMs = grid.stopOf(point.startMs)
    }
  }
  for (; nextMs < range.stopMs; nextMs = grid.stopOf(nextMs)) yield emptyPoint(nextMs)
}

function emptyPoint(startMs: number): BucketPoint {
  return { startMs, temp: null, min: null, max: null, count: 0 }
}
