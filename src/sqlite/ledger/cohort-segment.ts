// The filter of a cohort, shared by up to sixteen merged runs. One look says which of them may have
// a key; a filter per run would take a cache line or two for each.
//
// It is stored in segments, by the first byte of the keys. When a run joins the cohort, each
// segment is rebuilt with the run's keys (cohort-segment-merger.ts). So what is kept of a key can
// move to a larger segment: its next 27 bits, called the position, and the slot of its run in the
// cohort.
//
// A segment is a quotient filter. The first bits of a position select a bin, the next eight are the
// quotient, the rest is the remainder. There are enough bins for about one key per quotient, and a
// quotient is used if any key of its bin has it. In words:
//
//   1  how many bits of a position are its bin
//   1  how many keys there are
//      for each bin where it begins, and where the last one ends
//      the bins, and one word more, for two are read where one may do
//
// and a bin, which has the first two from its beginning on and the flags from its end back:
//
//   8  which of its quotients are used
//      for each key its remainder and its slot: first those of one key for each used quotient, in
//      the order of the quotients, then those of the other keys
//      in the same order a flag for each key: for a quotient's first key, whether it has more; for
//      another, whether it is the quotient's last

import { bitsSet, readBits } from './filter-bits.ts'

export const SLOTS = 16
export const SLOT_BITS = 4
export const POSITION_BITS = 27
export const QUOTIENT_BITS = 8
export const QUOTIENTS = 2 ** QUOTIENT_BITS
export const QUOTIENT_WORDS = QUOTIENTS / 32
/** Where a segment has the offsets of its bins. */
export const BIN_TABLE_AT = 2

/** More keys per quotient save memory on bins, but take longer to search. */
const KEYS_PER_QUOTIENT_MAX = 1.25

const BIN_BITS_MAX = POSITION_BITS - QUOTIENT_BITS

export type Segment = Uint32Array<ArrayBuffer>

/** A segment without keys. */
export const EMPTY_SEGMENT: Segment = new Uint32Array(BIN_TABLE_AT + 2 + QUOTIENT_WORDS + 1)
EMPTY_SEGMENT.set([BIN_TABLE_AT + 2, BIN_TABLE_AT + 2 + QUOTIENT_WORDS], BIN_TABLE_AT)

/** A key's position in its segment, from its first two words. */
export function positionOf(w0: number, w1: number): number {
  return ((w0 & 0xff_ffff) << 3) | (w1 >>> 29)
}

/** How many bits of a position select the bin in a segment with this many keys. */
export function binBitsFor(keys: number): number {
  const bins = keys / (QUOTIENTS * KEYS_PER_QUOTIENT_MAX)
  return Math.min(BIN_BITS_MAX, Math.max(0, Math.ceil(Math.log2(bins))))
}

/** How many bits of a key, including its slot, are neither bin nor quotient. */
export function widthFor(binBits: number): number {
  return BIN_BITS_MAX - binBits + SLOT_BITS
}

/** Whether the run with that slot may have the key: never false for one that has. */
export function mayBeInSlot(segment: Segment, position: number, slot: number): boolean {
  const binNo = binNoOf(segment, position)
  const bin = startOfBin(segment, binNo)
  if (isQuotientUsed(segment, bin, position) === 0) return false
  const slots = slotsOf(segment, bin, startOfBin(segment, binNo + 1), position)
  return ((slots >>> slot) & 1) === 1
}

/** The bin a position is in. */
export function binNoOf(segment: Segment, position: number): number {
  return position >>> (POSITION_BITS - (segment[0] ?? 0))
}

/** Where a bin begins; for the number of bins, where the last one ends. */
export function startOfBin(segment: Segment, binNo: number): number {
  return segment[BIN_TABLE_AT + binNo] ?? 0
}

/** @returns 1 if the quotient of a position is used */
export function isQuotientUsed(segment: Segment, bin: number, position: number): number {
  const quotient = quotientOf(segment, position)
  return ((segment[bin + (quotient >>> 5)] ?? 0) >>> (quotient & 31)) & 1
}

/** The quotient of a position within its bin. */
function quotientOf(segment: Segment, position: number): number {
  return (position >>> (BIN_BITS_MAX - (segment[0] ?? 0))) & (QUOTIENTS - 1)
}

/** The place of a quotient's first key: the number of used quotients before it. */
export function firstPlaceOf(segment: Segment, bin: number, position: number): number {
  return quotientsUsedBefore(segment, bin, quotientOf(segment, position))
}

function quotientsUsedBefore(segment: Segment, bin: number, quotient: number): number {
  const words = quotient >>> 5
  let sum = bitsSet((segment[bin + words] ?? 0) & ((1 << (quotient & 31)) - 1))
  for (let word = 0; word < words; word++) sum += bitsSet(segment[bin + word] ?? 0)
  return sum
}

/** The word of a segment in which the key at a place of a bin begins. */
export function wordOfKey(segment: Segment, bin: number, place: number): number {
  return bin + QUOTIENT_WORDS + ((place * widthFor(segment[0] ?? 0)) >>> 5)
}

/** As bits, the slots of the runs that may have a key whose quotient is used. */
function slotsOf(segment: Segment, bin: number, end: number, position: number): number {
  const first = firstPlaceOf(segment, bin, position)
  const slots = slotAt(segment, bin, first, position)
  if (flagOf(segment, end, first) === 0) return slots
  const further = furtherPlaceOf(segment, bin, end, first)
  return slots | furtherSlots(segment, { bin, end }, further, position)
}

/** As a bit, the slot of the key at a place; 0 if it does not have the position's remainder. */
export function slotAt(segment: Segment, bin: number, place: number, position: number): number {
  const width = widthFor(segment[0] ?? 0)
  const key = readBits(segment, bin + QUOTIENT_WORDS, place * width, width)
  const difference = (key >>> SLOT_BITS) ^ (position & ((1 << (width - SLOT_BITS)) - 1))
  return ((difference - 1) >>> 31) << (key & (SLOTS - 1))
}

/** As bits, the slots of the further keys of a quotient, the first of which is at that place. */
export function furtherSlots(
  segment: Segment,
  { bin, end }: { readonly bin: number; readonly end: number },
  firstPlace: number,
  position: number,
): number {
  const stop = keysOfBinMax(segment, bin, end)
  let slots = 0
  for (let place = firstPlace; place < stop; place++) {
    slots |= slotAt(segment, bin, place, position)
    if (flagOf(segment, end, place) === 1) break
  }
  return slots
}

/** Where a bin ends that has this many keys, beginning at a word. */
export function keysAndFlagsEnd(keysAt: number, keys: number, width: number): number {
  return keysAt + Math.ceil((keys * (width + 1)) / 32)
}

/** The most keys a bin can have. */
export function keysOfBinMax(segment: Segment, bin: number, end: number): number {
  return Math.floor(((end - bin - QUOTIENT_WORDS) * 32) / (widthFor(segment[0] ?? 0) + 1))
}

/** The place of the second key of a quotient that has several and whose first is at that place. */
export function furtherPlaceOf(segment: Segment, bin: number, end: number, first: number): number {
  // The number of earlier quotients with further keys; each of them has a last one here.
  const used = quotientsUsedBefore(segment, bin, QUOTIENTS)
  return placeAfterFlags(segment, { bin, end }, used, flagsBefore(segment, end, first))
}

/**
 * @returns for the first key of a quotient 1 if there are more, for the others 1 if it is the last
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
  { bin, end }: { readonly bin: number; readonly end: number },
  place: number,
  ones: number,
): number {
  let left = ones
  let word = end - 1 - (place >>> 5)
  let bits = (segment[word] ?? 0) & (-1 >>> (place & 31))
  for (;;) {
    const set = bitsSet(bits)
    if (set >= left || word <= bin) break
    left -= set
    bits = segment[--word] ?? 0
  }
  if (left === 0) return place
  for (; left > 1; left--) bits &= ~(0x8000_0000 >>> Math.clz32(bits))
  return (end - 1 - word) * 32 + Math.clz32(bits) + 1
}
