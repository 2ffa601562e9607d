// Where in time the measurements of a sensor lie: at most eight periods [first, last]. They may
// cover more than there is, never less: a time outside all of them is certainly free, so that a
// measurement there needs no look-up for its tie-break.

const SPANS_MAX = 8
const SPAN_BYTES = 16

/** Ascending, without overlap. */
export type TimeSpans = (readonly [firstMs: number, lastMs: number])[]

export function decodeSpans(bytes: Buffer): TimeSpans {
  return Array.from({ length: bytes.length / SPAN_BYTES }, (_, at) => [
    bytes.readDoubleLE(at * SPAN_BYTES),
    bytes.readDoubleLE(at * SPAN_BYTES + 8),
  ])
}

export function encodeSpans(spans: TimeSpans): Buffer {
  const bytes = Buffer.allocUnsafe(spans.length * SPAN_BYTES)
  spans.flat().forEach((ms, at) => bytes.writeDoubleLE(ms, at * 8))
  return bytes
}

export function isCovered(spans: TimeSpans, atMs: number): boolean {
  return spans.some(([firstMs, lastMs]) => firstMs <= atMs && atMs <= lastMs)
}

/** The spans with another time; the two with the smallest gap between them become one. */
export function withTime(spans: TimeSpans, atMs: number): TimeSpans {
  if (isCovered(spans, atMs)) return spans
  const place = spans.findIndex(([firstMs]) => firstMs > atMs)
  const all = spans.toSpliced(place < 0 ? spans.length : place, 0, [atMs, atMs])
  if (all.length <= SPANS_MAX) return all
  let smallest = 0
  for (let at = 1; at < all.length - 1; at++) {
    if (gapAfter(all, at) < gapAfter(all, smallest)) smallest = at
  }
  const [[firstMs] = [atMs], [, lastMs] = [atMs, atMs]] = all.slice(smallest, smallest + 2)
  return all.toSpliced(smallest, 2, [firstMs, lastMs])
}

function gapAfter(spans: TimeSpans, at: number): number {
  return (spans[at + 1]?.[0] ?? 0) - (spans[at]?.[1] ?? 0)
}
