// Where in time a sensor's measurements lie, as a few closed stretches [from, to]. They may cover
// more than there is, never less: a time outside all of them is certainly free, so a measurement
// there needs no look-up for its tie-break.

/** Stretches a sensor has at most; the two with the smallest gap between them become one. */
const SPANS_MAX = 8

/** Pairs from, to in ascending order, without overlap. */
export type TimeSpans = number[]

export function isCovered(spans: ArrayLike<number>, atMs: number): boolean {
  for (let at = spans.length - 2; at >= 0; at -= 2) {
    if (atMs > (spans[at + 1] ?? 0)) return false
    if (atMs >= (spans[at] ?? 0)) return true
  }
  return false
}

/** Makes `spans` cover `atMs`. */
export function cover(spans: TimeSpans, atMs: number): void {
  let at = spans.length
  while (at > 0 && (spans[at - 2] ?? 0) > atMs) at -= 2
  if (at > 0 && (spans[at - 1] ?? 0) >= atMs) return
  const isFull = spans.length === SPANS_MAX * 2
  const smallest = isFull ? smallestGap(spans) : 0
  // Data in order come here again and again: nothing is moved for them.
  if (isFull && at > 0 && atMs - (spans[at - 1] ?? 0) <= gapBefore(spans, smallest)) {
    spans[at - 1] = atMs
    return
  }
  spans.splice(at, 0, atMs, atMs)
  if (isFull) spans.splice(smallestGap(spans) - 1, 2)
}

/** Where the stretch begins that has it before it. */
function smallestGap(spans: TimeSpans): number {
  let smallest = 2
  for (let at = 4; at < spans.length; at += 2) {
    if (gapBefore(spans, at) < gapBefore(spans, smallest)) smallest = at
  }
  return smallest
}

function gapBefore(spans: TimeSpans, at: number): number {
  return (spans[at] ?? 0) - (spans[at - 1] ?? 0)
}

/** Spans as they are stored. */
export function encodeSpans(spans: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(spans.length * 8)
  spans.forEach((edge, at) => bytes.writeDoubleLE(edge, at * 8))
  return bytes
}

export function decodeSpans(bytes: Buffer): Float64Array {
  const spans = new Float64Array(bytes.length / 8)
  for (let at = 0; at < spans.length; at++) spans[at] = bytes.readDoubleLE(at * 8)
  return spans
}
