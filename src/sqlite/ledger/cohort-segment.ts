// The filter of a cohort, shared by up to sixteen merged runs. One look says which of them may have
// a key; a filter per run would take a line of memory or two for each.
//
// It is stored in segments, by the first byte of the keys. When a run joins the cohort, each
// segment is rebuilt with the run's keys (cohort-segment-merger.ts). So what is kept of a key can
// move to a larger segment: its next 27 bits, called the position, and the slot of its run in the
// cohort.
//
// The first bits of a position select the line, the next eight the bucket in it; the rest is the
// remainder. There are enough lines for about one key per bucket. In words:
//
//   1  how many bits of a position are its line
//   1  how many keys there are
//      for each line where it begins, and where the last one ends
//      the lines, and one word more, for two are read where one may do
//
// and a line, which has the first two from its beginning on and the flags from its end back:
//
//   8  which of its buckets have keys
//      for each key its remainder and its slot: of the first key of each bucket that has any, in
//      the order of the buckets, then of the others
//      in the same order a flag for each key: of a first one, whether its bucket has more; of
//      another, whether it is the last of its bucket

import { bitsSet, readBits } from './filter-bits.ts'

export const SLOTS = 16
export const SLOT_BITS = 4
export const POSITION_BITS = 27
export const BUCKET_BITS = 8
export const BUCKETS = 2 ** BUCKET_BITS
export const BUCKET_WORDS = BUCKETS / 32
/** Where a segment has the offsets of its lines. */
export const LINE_TABLE_AT = 2

/** More keys per bucket save memory on buckets, but take longer to search. */
const KEYS_PER_BUCKET_MAX = 1.25

const LINE_BITS_MAX = POSITION_BITS - BUCKET_BITS

export type Segment = Uint32Array<ArrayBuffer>

/** A segment without keys. */
export const EMPTY_SEGMENT: Segment = new Uint32Array(LINE_TABLE_AT + 2 + BUCKET_WORDS + 1)
EMPTY_SEGMENT.set([LINE_TABLE_AT + 2, LINE_TABLE_AT + 2 + BUCKET_WORDS], LINE_TABLE_AT)

/** A key's position in its segment, from its first two words. */
export function positionOf(w0: number, w1: number): number {
  return ((w0 & 0xff_ffff) << 3) | (w1 >>> 29)
}

/** How many bits of a position select the line in a segment with this many keys. */
export function lineBitsFor(keys: number): number {
  const lines = keys / (BUCKETS * KEYS_PER_BUCKET_MAX)
  return Math.min(LINE_BITS_MAX, Math.max(0, Math.ceil(Math.log2(lines))))
}

/** How many bits of a key, including its slot, are neither line nor bucket. */
export function widthFor(lineBits: number): number {
  return LINE_BITS_MAX - lineBits + SLOT_BITS
}

/** Whether the run with that slot may have the key: never false for one that has. */
export function mayBeInSlot(segment: Segment, position: number, slot: number): boolean {
  const lineNo = lineNoOf(segment, position)
  const line = startOfLine(segment, lineNo)
  if (isBucketUsed(segment, line, position) === 0) return false
  const slots = slotsOf(segment, line, startOfLine(segment, lineNo + 1), position)
  return ((slots >>> slot) & 1) === 1
}

/** The line a position is in. */
export function lineNoOf(segment: Segment, position: number): number {
  return position >>> (POSITION_BITS - (segment[0] ?? 0))
}

/** Where a line begins; for the number of lines, where the last one ends. */
export function startOfLine(segment: Segment, lineNo: number): number {
  return segment[LINE_TABLE_AT + lineNo] ?? 0
}

/** @returns 1 if the bucket of a position is not empty */
export function isBucketUsed(segment: Segment, line: number, position: number): number {
  const bucket = bucketOf(segment, position)
  return ((segment[line + (bucket >>> 5)] ?? 0) >>> (bucket & 31)) & 1
}

/** The bucket of a position within its line. */
function bucketOf(segment: Segment, position: number): number {
  return (position >>> (LINE_BITS_MAX - (segment[0] ?? 0))) & (BUCKETS - 1)
}

/** The place of a bucket's first key: the number of non-empty buckets before it. */
export function firstPlaceOf(segment: Segment, line: number, position: number): number {
  return bucketsUsedBefore(segment, line, bucketOf(segment, position))
}

function bucketsUsedBefore(segment: Segment, line: number, bucket: number): number {
  const words = bucket >>> 5
  let sum = bitsSet((segment[line + words] ?? 0) & ((1 << (bucket & 31)) - 1))
  for (let word = 0; word < words; word++) sum += bitsSet(segment[line + word] ?? 0)
  return sum
}

/** The word of a segment in which the key at a place of a line begins. */
export function wordOfKey(segment: Segment, line: number, place: number): number {
  return line + BUCKET_WORDS + ((place * widthFor(segment[0] ?? 0)) >>> 5)
}

/** As bits, the slots of the runs that may have a key whose bucket is not empty. */
function slotsOf(segment: Segment, line: number, end: number, position: number): number {
  const first = firstPlaceOf(segment, line, position)
  const slots = slotAt(segment, line, first, position)
  if (flagOf(segment, end, first) === 0) return slots
  const further = furtherPlaceOf(segment, line, end, first)
  return slots | furtherSlots(segment, { line, end }, further, position)
}

/** As a bit, the slot of the key at a place; 0 if it does not have the position's remainder. */
export function slotAt(segment: Segment, line: number, place: number, position: number): number {
  const width = widthFor(segment[0] ?? 0)
  const key = readBits(segment, line + BUCKET_WORDS, place * width, width)
  const difference = (key >>> SLOT_BITS) ^ (position & ((1 << (width - SLOT_BITS)) - 1))
  return ((difference - 1) >>> 31) << (key & (SLOTS - 1))
}

/** As bits, the slots of the further keys of a bucket, the first of which is at that place. */
export function furtherSlots(
  segment: Segment,
  { line, end }: { readonly line: number; readonly end: number },
  firstPlace: number,
  position: number,
): number {
  const stop = keysOfLineMax(segment, line, end)
  let slots = 0
  for (let place = firstPlace; place < stop; place++) {
    slots |= slotAt(segment, line, place, position)
    if (flagOf(segment, end, place) === 1) break
  }
  return slots
}

/** Where a line ends that has this many keys, beginning at a word. */
export function keysAndFlagsEnd(keysAt: number, keys: number, width: number): number {
  return keysAt + Math.ceil((keys * (width + 1)) / 32)
}

/** The most keys a line can have. */
export function keysOfLineMax(segment: Segment, line: number, end: number): number {
  return Math.floor(((end - line - BUCKET_WORDS) * 32) / (widthFor(segment[0] ?? 0) + 1))
}

/** The place of the second key of a bucket that has several and whose first is at that place. */
export function furtherPlaceOf(segment: Segment, line: number, end: number, first: number): number {
  // The number of earlier buckets with further keys; each of them has a last one here.
  const used = bucketsUsedBefore(segment, line, BUCKETS)
  return placeAfterFlags(segment, { line, end }, used, flagsBefore(segment, end, first))
}

/**
 * @returns for the first key of a bucket 1 if there are more, for the others 1 if it is the last
 */
export function flagOf(segment: Segment, end: number, place: number): number {
  return ((segment[end - 1 - (place >>> 5)] ?? 0) >>> (~place & 31)) & 1
}

/** The number of set bits among the first flags. */
function flagsBefore(segment: Segment, end: number, count: number): number {
  const words = count >>> 5
  let sum = bitsSet((segment[end - 1 - words] ?? 0) & ~(-1 >>> (count & 31)))
  for (let word = 0; word < words; word++) sum += bitsSet(segment[end - 1 - word] ?? 0)
  return sum
}

/** The place after that many set flags, counted from a place. */
function placeAfterFlags(
  segment: Segment,
  { line, end }: { readonly line: number; readonly end: number },
  place: number,
  ones: number,
): number {
  let left = ones
  let word = end - 1 - (place >>> 5)
  let bits = (segment[word] ?? 0) & (-1 >>> (place & 31))
  for (;;) {
    const set = bitsSet(bits)
    if (set >= left || word <= line) break
    left -= set
    bits = segment[--word] ?? 0
  }
  if (left === 0) return place
  for (; left > 1; left--) bits &= ~(0x8000_0000 >>> Math.clz32(bits))
  return (end - 1 - word) * 32 + Math.clz32(bits) + 1
}
