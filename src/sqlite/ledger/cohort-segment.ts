// The filter of a cohort: up to sixteen merged runs that share it. One look says which of them may
// have a key; a filter for each run would take a line of memory or two for each.
//
// It is stored in segments, by the first byte of the keys. When a run joins the cohort, each
// segment is rebuilt with the keys of that run (cohort-segment-merger.ts). So what is kept of a key
// can be moved into a larger segment: its next 27 bits, the position, and the slot that its run has
// in the cohort.
//
// A position's first bits are its line, the next eight its bucket there, the rest its remainder.
// There are as many lines as give a bucket about one key. In words:
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
/** Where in a segment the places of its lines stand. */
export const LINE_TABLE_AT = 2

/** More keys a bucket take less memory for buckets and more to look at. */
const KEYS_PER_BUCKET_MAX = 1.25

const LINE_BITS_MAX = POSITION_BITS - BUCKET_BITS

export type Segment = Uint32Array<ArrayBuffer>

/** A segment that knows no key. */
export const EMPTY_SEGMENT: Segment = new Uint32Array(LINE_TABLE_AT + 2 + BUCKET_WORDS + 1)
EMPTY_SEGMENT.set([LINE_TABLE_AT + 2, LINE_TABLE_AT + 2 + BUCKET_WORDS], LINE_TABLE_AT)

/** A key's position in its segment, of its first two words. */
export function positionOf(w0: number, w1: number): number {
  return ((w0 & 0xff_ffff) << 3) | (w1 >>> 29)
}

/** How many bits of a position are its line in a segment with so many keys. */
export function lineBitsFor(keys: number): number {
  const lines = keys / (BUCKETS * KEYS_PER_BUCKET_MAX)
  return Math.min(LINE_BITS_MAX, Math.max(0, Math.ceil(Math.log2(lines))))
}

/** How many bits of a key are not its line and bucket, with its slot. */
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

/** Which of the lines a position is in. */
export function lineNoOf(segment: Segment, position: number): number {
  return position >>> (POSITION_BITS - (segment[0] ?? 0))
}

/** Where a line begins; where the last one ends for the number of lines. */
export function startOfLine(segment: Segment, lineNo: number): number {
  return segment[LINE_TABLE_AT + lineNo] ?? 0
}

/** @returns 1 where the bucket of a position has keys */
export function isBucketUsed(segment: Segment, line: number, position: number): number {
  const bucket = bucketOf(segment, position)
  return ((segment[line + (bucket >>> 5)] ?? 0) >>> (bucket & 31)) & 1
}

/** The bucket of a position in its line. */
function bucketOf(segment: Segment, position: number): number {
  return (position >>> (LINE_BITS_MAX - (segment[0] ?? 0))) & (BUCKETS - 1)
}

/** The place of the first key of a bucket: as many buckets before have keys. */
export function firstPlaceOf(segment: Segment, line: number, position: number): number {
  return bucketsUsedBefore(segment, line, bucketOf(segment, position))
}

function bucketsUsedBefore(segment: Segment, line: number, bucket: number): number {
  const words = bucket >>> 5
  let sum = bitsSet((segment[line + words] ?? 0) & ((1 << (bucket & 31)) - 1))
  for (let word = 0; word < words; word++) sum += bitsSet(segment[line + word] ?? 0)
  return sum
}

/** The word of a segment that the key at a place of a line begins in. */
export function wordOfKey(segment: Segment, line: number, place: number): number {
  return line + BUCKET_WORDS + ((place * widthFor(segment[0] ?? 0)) >>> 5)
}

/** As bits, the slots of the runs that may have a key; its bucket has keys. */
function slotsOf(segment: Segment, line: number, end: number, position: number): number {
  const first = firstPlaceOf(segment, line, position)
  const slots = slotAt(segment, line, first, position)
  if (flagOf(segment, end, first) === 0) return slots
  const further = furtherPlaceOf(segment, line, end, first)
  return slots | furtherSlots(segment, { line, end }, further, position)
}

/** As a bit, the slot of the key at a place; 0 where it has not the remainder of a position. */
export function slotAt(segment: Segment, line: number, place: number, position: number): number {
  const width = widthFor(segment[0] ?? 0)
  const key = readBits(segment, line + BUCKET_WORDS, place * width, width)
  const difference = (key >>> SLOT_BITS) ^ (position & ((1 << (width - SLOT_BITS)) - 1))
  return ((difference - 1) >>> 31) << (key & (SLOTS - 1))
}

/** As bits, the slots of further keys of a bucket, of which the first is at that place. */
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

/** Where a line ends whose keys, so many, begin at a word. */
export function keysAndFlagsEnd(keysAt: number, keys: number, width: number): number {
  return keysAt + Math.ceil((keys * (width + 1)) / 32)
}

/** A line has no more keys than that. */
export function keysOfLineMax(segment: Segment, line: number, end: number): number {
  return Math.floor(((end - line - BUCKET_WORDS) * 32) / (widthFor(segment[0] ?? 0) + 1))
}

/** The place of the second key of a bucket whose first is at that place, and which has more. */
export function furtherPlaceOf(segment: Segment, line: number, end: number, first: number): number {
  // As many buckets before have further keys; each of them has a last one here.
  const used = bucketsUsedBefore(segment, line, BUCKETS)
  return placeAfterFlags(segment, { line, end }, used, flagsBefore(segment, end, first))
}

/** @returns for the first key of a bucket 1 where it has more, else 1 where it is the last */
export function flagOf(segment: Segment, end: number, place: number): number {
  return ((segment[end - 1 - (place >>> 5)] ?? 0) >>> (~place & 31)) & 1
}

/** How many of the first flags are set. */
function flagsBefore(segment: Segment, end: number, count: number): number {
  const words = count >>> 5
  let sum = bitsSet((segment[end - 1 - words] ?? 0) & ~(-1 >>> (count & 31)))
  for (let word = 0; word < words; word++) sum += bitsSet(segment[end - 1 - word] ?? 0)
  return sum
}

/** The place after so many that are set of the flags from a place on. */
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
