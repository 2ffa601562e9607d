// The filter that a cohort has in common: runs of the middle size, up to sixteen, that are going to
// be merged with each other. One look says which of them may have a key; to ask each run's own
// filter would take a line of memory or two for each.
//
// A segment of it knows the keys that begin with one byte. Whenever a run joins the cohort, each
// segment is made again with the keys of that run (cohort-segment-merger.ts), so a key is kept as
// what can be brought into a larger segment: its next 27 bits, the position, and the slot that its
// run has in the cohort.
//
// A position's first bits are its line, the next eight its bucket there, the rest its remainder.
// There are as many lines as give a bucket about one key. In words:
//
//   1  how many bits of a position are its line
//   1  how many keys there are
//      for each line where it begins
//      the lines, and one word more, for two are read where one may do
//
// and a line:
//
//   8  which of its buckets have keys
//   1  how many keys it has
//   2  as bytes: how many buckets have keys before each of the eight words
//      for each bucket that has keys a bit, whether it has more than one; for each key that is not
//      the first of its bucket a bit, whether it is the last of it; then in the same order, for
//      each key its remainder and its slot

import { bitsSet, readBits } from './filter-bits.ts'

export const SEGMENTS = 256
export const SLOTS = 16
export const SLOT_BITS = 4
export const POSITION_BITS = 27
export const BUCKET_BITS = 8
export const BUCKETS = 2 ** BUCKET_BITS
export const BUCKET_WORDS = BUCKETS / 32
/** Where in a segment the places of its lines stand. */
export const LINE_TABLE_AT = 2
export const LINE_HEADER_WORDS = BUCKET_WORDS + 3

/** More keys a bucket take less memory for buckets and more to look at. */
const KEYS_PER_BUCKET_MAX = 1.25

/** Flags are counted and passed over so many at a time. */
const FLAGS_AT_ONCE = 31

const LINE_BITS_MAX = POSITION_BITS - BUCKET_BITS

export type Segment = Uint32Array<ArrayBuffer>

/** A segment that knows no key. */
export const EMPTY_SEGMENT: Segment = new Uint32Array(LINE_TABLE_AT + 1 + LINE_HEADER_WORDS + 1)
EMPTY_SEGMENT[LINE_TABLE_AT] = LINE_TABLE_AT + 1

/** The segment of a key with that first word. */
export function segmentOf(w0: number): number {
  return w0 >>> 24
}

/** The least first word of a key in that segment; 2^32 where there is no such segment any more. */
export function firstWordOfSegment(segmentNo: number): number {
  return segmentNo * 0x100_0000
}

/** How many segments hold only keys with a lower first word. */
export function segmentsBelow(word: number): number {
  return Math.floor(word / 0x100_0000)
}

/** A key's position in its segment, of its first two words. */
export function positionOf(w0: number, w1: number): number {
  return ((w0 & 0xff_ffff) << 3) | (w1 >>> 29)
}

/** How many bits of a position are its line in a segment with so many keys. */
export function lineBitsFor(keys: number): number {
  const lines = keys / (BUCKETS * KEYS_PER_BUCKET_MAX)
  return Math.min(LINE_BITS_MAX, Math.max(0, Math.ceil(Math.log2(lines))))
}

/** Whether the run with that slot may have the key: never false for one that has. */
export function mayBeInSlot(segment: Segment, position: number, slot: number): boolean {
  const lineBits = segment[0] ?? 0
  const line = segment[LINE_TABLE_AT + (position >>> (POSITION_BITS - lineBits))] ?? 0
  if (isBucketUsed(segment, line, position) === 0) return false
  return ((slotsOf(segment, line, position) >>> slot) & 1) === 1
}

/** @returns 1 where the bucket of a position has keys */
export function isBucketUsed(segment: Segment, line: number, position: number): number {
  const bucket = bucketOf(segment, position)
  return ((segment[line + (bucket >>> 5)] ?? 0) >>> (bucket & 31)) & 1
}

/** The bucket of a position in its line. */
export function bucketOf(segment: Segment, position: number): number {
  return (position >>> (LINE_BITS_MAX - (segment[0] ?? 0))) & (BUCKETS - 1)
}

/** How many buckets of a line have keys before that one. */
export function bucketsUsedBefore(segment: Segment, line: number, bucket: number): number {
  const word = bucket >>> 5
  const before = (segment[line + word] ?? 0) & ((1 << (bucket & 31)) - 1)
  const counts = segment[line + BUCKET_WORDS + 1 + (word >>> 2)] ?? 0
  return ((counts >>> ((word & 3) * 8)) & 255) + bitsSet(before)
}

/** Which bit of a line its keys begin with: after the two kinds of flags. */
export function keysAtBit(segment: Segment, line: number): number {
  return LINE_HEADER_WORDS * 32 + (segment[line + BUCKET_WORDS] ?? 0)
}

/** The word of a segment that the key at a place of a line begins in. */
export function wordOfKey(segment: Segment, line: number, place: number): number {
  const width = LINE_BITS_MAX - (segment[0] ?? 0) + SLOT_BITS
  return line + ((keysAtBit(segment, line) + place * width) >>> 5)
}

/** As bits, the slots of the runs that may have a key; its bucket has keys. */
function slotsOf(segment: Segment, line: number, position: number): number {
  const first = bucketsUsedBefore(segment, line, bucketOf(segment, position))
  const slots = slotAt(segment, line, first, position)
  if (flagOf(segment, line, first) === 0) return slots
  const further = furtherPlaceOf(segment, line, first)
  return slots | furtherSlots(segment, line, further, position)
}

/** As a bit, the slot of the key at a place; 0 where it has not the remainder of a position. */
export function slotAt(segment: Segment, line: number, place: number, position: number): number {
  const remainderBits = LINE_BITS_MAX - (segment[0] ?? 0)
  const width = remainderBits + SLOT_BITS
  const key = readBits(segment, line, keysAtBit(segment, line) + place * width, width)
  const difference = (key >>> SLOT_BITS) ^ (position & ((1 << remainderBits) - 1))
  return ((difference - 1) >>> 31) << (key & (SLOTS - 1))
}

/** As bits, the slots of further keys of a bucket, of which the first is at that place. */
export function furtherSlots(
  segment: Segment,
  line: number,
  firstPlace: number,
  position: number,
): number {
  const keys = segment[line + BUCKET_WORDS] ?? 0
  let slots = 0
  for (let place = firstPlace; place < keys; place++) {
    slots |= slotAt(segment, line, place, position)
    if (flagOf(segment, line, place) === 1) break
  }
  return slots
}

/** The place of the second key of a bucket whose first is at that place, and which has more. */
export function furtherPlaceOf(segment: Segment, line: number, first: number): number {
  const lastBucket = (segment[line + BUCKET_WORDS - 1] ?? 0) >>> 31
  const used = bucketsUsedBefore(segment, line, BUCKETS - 1) + lastBucket
  // As many buckets before have further keys; each of them has a last one here.
  return used + flagsThrough(segment, line, used, flagsBefore(segment, line, first))
}

/** @returns for the first key of a bucket 1 where it has more, else 1 where it is the last */
export function flagOf(segment: Segment, line: number, place: number): number {
  return readBits(segment, line + LINE_HEADER_WORDS, place, 1)
}

/** How many of the first flags are set. */
function flagsBefore(segment: Segment, line: number, count: number): number {
  const at = line + LINE_HEADER_WORDS
  const words = count >>> 5
  let sum = bitsSet((segment[at + words] ?? 0) & ((1 << (count & 31)) - 1))
  for (let word = 0; word < words; word++) sum += bitsSet(segment[at + word] ?? 0)
  return sum
}

/** How many flags from a place on there are through the last one of so many that are set. */
function flagsThrough(segment: Segment, line: number, place: number, ones: number): number {
  const keys = segment[line + BUCKET_WORDS] ?? 0
  let passed = 0
  let left = ones
  while (left > 0 && place + passed < keys) {
    let bits = readBits(segment, line + LINE_HEADER_WORDS, place + passed, FLAGS_AT_ONCE)
    const set = bitsSet(bits)
    if (set >= left) {
      for (; left > 1; left--) bits &= bits - 1
      return passed + 32 - Math.clz32(bits & -bits)
    }
    left -= set
    passed += FLAGS_AT_ONCE
  }
  return passed
}
