// Rebuilds a segment of a cohort's filter with the keys of one more run, bin by bin: the keys of
// a bin are read, those of the run are inserted, and all are written to the bin or bins that it
// becomes. The work per key has no unpredictable branches: over its life, a run of eight million
// events has a hundred million keys processed.

import {
  QUOTIENT_BITS,
  QUOTIENT_WORDS,
  QUOTIENTS,
  EMPTY_SEGMENT,
  flagOf,
  keysAndFlagsEnd,
  keysOfBinMax,
  BIN_TABLE_AT,
  binBitsFor,
  POSITION_BITS,
  SLOT_BITS,
  startOfBin,
  widthFor,
} from './cohort-segment.ts'
import type { Segment } from './cohort-segment.ts'
import { toStarts } from './counting-sort.ts'
import { bitsSet, readBits } from './filter-bits.ts'

// A key here is its position with the slot behind it.

export class SegmentMerger {
  /** The added keys by the old bin they belong to, and where those of each bin end. */
  #added = new Int32Array(0)
  #addedStops = new Int32Array(0)
  // The keys of one old bin: as read, and by quotient of the new bins.
  #keys = new Int32Array(0)
  #ordered = new Int32Array(0)
  #stops = new Int32Array(0)
  #quotientsUsed = new Uint32Array(0)
  /** Receives the new segment; larger than it. */
  #segment: Segment = EMPTY_SEGMENT
  readonly #quotientsWithMore = new Int32Array(QUOTIENTS + 1)
  // For the bin being written, in the order in which keys are stored.
  #flags = new Uint8Array(0)
  #entries = new Uint32Array(0)

  /**
   * @param added positions of the keys of the run with that slot, in any order
   * @returns a segment with all keys
   */
  merge(old: Segment, added: Int32Array, slot: number): Segment {
    const count = (old[1] ?? 0) + added.length
    const oldBinBits = old[0] ?? 0
    const binBits = Math.max(oldBinBits, binBitsFor(count))
    const bins = 2 ** binBits
    const width = widthFor(binBits)
    const wordsMax =
      BIN_TABLE_AT + 2 + bins * (QUOTIENT_WORDS + 2) + Math.ceil((count * (width + 1)) / 32)
    if (this.#segment.length < wordsMax) this.#segment = new Uint32Array(wordsMax * 1.25)
    const segment = this.#segment
    segment[0] = binBits
    segment[1] = count
    this.#orderAdded(added, slot, oldBinBits)
    const split = 2 ** (binBits - oldBinBits)
    let at = BIN_TABLE_AT + bins + 1
    for (let oldBin = 0; oldBin < 2 ** oldBinBits; oldBin++) {
      this.#order(this.#gather(old, oldBin), width, split)
      for (let part = 0; part < split; part++) {
        segment[BIN_TABLE_AT + oldBin * split + part] = at
        at = this.#writeBin(segment, at, part)
      }
    }
    segment[BIN_TABLE_AT + bins] = at
    segment[at++] = 0
    return segment.slice(0, at)
  }

  #orderAdded(added: Int32Array, slot: number, oldBinBits: number): void {
    const bins = 2 ** oldBinBits
    if (this.#addedStops.length < bins) this.#addedStops = new Int32Array(bins)
    if (this.#added.length < added.length) this.#added = new Int32Array(added.length)
    const next = this.#addedStops.fill(0, 0, bins)
    const binOf = (position: number) => position >>> (POSITION_BITS - oldBinBits)
    for (let at = 0; at < added.length; at++) {
      const bin = binOf(added[at] ?? 0)
      next[bin] = (next[bin] ?? 0) + 1
    }
    toStarts(next, bins)
    for (let at = 0; at < added.length; at++) {
      const position = added[at] ?? 0
      const place = next[binOf(position)] ?? 0
      next[binOf(position)] = place + 1
      this.#added[place] = (position << SLOT_BITS) | slot
    }
  }

  /** @returns the number of keys for the new bins: those already there and the added ones */
  #gather(old: Segment, oldBin: number): number {
    const start = oldBin === 0 ? 0 : (this.#addedStops[oldBin - 1] ?? 0)
    const stop = this.#addedStops[oldBin] ?? 0
    const bin = startOfBin(old, oldBin)
    const keysMax = keysOfBinMax(old, bin, startOfBin(old, oldBin + 1))
    this.#reserve(keysMax + stop - start)
    const read = this.#readBin(old, oldBin, keysMax)
    this.#keys.set(this.#added.subarray(start, stop), read)
    return read + stop - start
  }

  /** @returns the number of keys in the bin */
  #readBin(segment: Segment, binNo: number, keysMax: number): number {
    const keys = this.#keys
    const more = this.#quotientsWithMore
    const width = widthFor(segment[0] ?? 0)
    const bin = startOfBin(segment, binNo)
    const end = startOfBin(segment, binNo + 1)
    const keysAt = bin + QUOTIENT_WORDS
    let withMore = 0
    let place = 0
    for (let word = 0; word < QUOTIENT_WORDS; word++) {
      const firstQuotient = (binNo << QUOTIENT_BITS) | (word * 32)
      for (let left = segment[bin + word] ?? 0; left !== 0; left &= left - 1) {
        const quotient = firstQuotient + 31 - Math.clz32(left & -left)
        keys[place] = (quotient << width) | readBits(segment, keysAt, place * width, width)
        more[withMore] = quotient
        withMore += flagOf(segment, end, place)
        place++
      }
    }
    let at = 0
    for (; at < withMore && place < keysMax; place++) {
      keys[place] = ((more[at] ?? 0) << width) | readBits(segment, keysAt, place * width, width)
      at += flagOf(segment, end, place)
    }
    return place
  }

  #order(count: number, width: number, split: number): void {
    const keys = this.#keys
    const ordered = this.#ordered
    const quotients = QUOTIENTS * split
    if (this.#stops.length < quotients) {
      this.#stops = new Int32Array(quotients)
      this.#quotientsUsed = new Uint32Array(quotients / 32)
    }
    const next = this.#stops.fill(0, 0, quotients)
    for (let at = 0; at < count; at++) {
      const quotient = ((keys[at] ?? 0) >>> width) & (quotients - 1)
      next[quotient] = (next[quotient] ?? 0) + 1
    }
    let sum = 0
    for (let word = 0; word < quotients / 32; word++) {
      let used = 0
      for (let bit = 0; bit < 32; bit++) {
        const quotient = word * 32 + bit
        const some = next[quotient] ?? 0
        used |= (-some >>> 31) << bit
        next[quotient] = sum
        sum += some
      }
      this.#quotientsUsed[word] = used
    }
    for (let at = 0; at < count; at++) {
      const key = keys[at] ?? 0
      const quotient = (key >>> width) & (quotients - 1)
      const place = next[quotient] ?? 0
      next[quotient] = place + 1
      ordered[place] = key
    }
  }

  /**
   * @param part which of the bins that an old one becomes
   * @returns where the next bin begins
   */
  #writeBin(segment: Segment, bin: number, part: number): number {
    const start = part === 0 ? 0 : (this.#stops[part * QUOTIENTS - 1] ?? 0)
    const stop = this.#stops[(part + 1) * QUOTIENTS - 1] ?? 0
    const used = this.#writeQuotientsUsed(segment, bin, part)
    const width = widthFor(segment[0] ?? 0)
    const ordered = this.#ordered
    const flags = this.#flags
    const entries = this.#entries
    const mask = (1 << width) - 1
    let first = 0
    let further = used
    let before = -1
    let quotient = (ordered[start] ?? 0) >>> width
    for (let at = start; at < stop; at++) {
      const next = at + 1 < stop ? (ordered[at + 1] ?? 0) >>> width : -1
      const isFirst = differs(quotient, before)
      const place = further + (first - further) * isFirst
      first += isFirst
      further += 1 - isFirst
      flags[place] = isFirst ^ differs(quotient, next)
      entries[place] = (ordered[at] ?? 0) & mask
      before = quotient
      quotient = next
    }
    return this.#writeKeys(segment, bin + QUOTIENT_WORDS, stop - start)
  }

  /** @returns the number of quotients that are used */
  #writeQuotientsUsed(segment: Segment, bin: number, part: number): number {
    let used = 0
    for (let word = 0; word < QUOTIENT_WORDS; word++) {
      const bits = this.#quotientsUsed[part * QUOTIENT_WORDS + word] ?? 0
      segment[bin + word] = bits
      used += bitsSet(bits)
    }
    return used
  }

  /** @returns where the bin ends */
  #writeKeys(segment: Segment, start: number, count: number): number {
    const width = widthFor(segment[0] ?? 0)
    const end = keysAndFlagsEnd(start, count, width)
    const flags = this.#flags
    const entries = this.#entries
    let at = start
    let bits = 0
    let filled = 0
    for (let place = 0; place < count; place++) {
      const entry = entries[place] ?? 0
      bits |= entry << filled
      filled += width
      if (filled < 32) continue
      segment[at++] = bits
      filled -= 32
      bits = filled === 0 ? 0 : entry >>> (width - filled)
    }
    // The last keys and the last flags may share a word.
    while (at < end) {
      segment[at++] = bits
      bits = 0
    }
    for (let first = 0; first < count; first += 32) {
      const word = end - 1 - (first >>> 5)
      const stop = Math.min(first + 32, count)
      bits = 0
      for (let place = first; place < stop; place++) bits |= (flags[place] ?? 0) << (~place & 31)
      segment[word] = (segment[word] ?? 0) | bits
    }
    return end
  }

  #reserve(count: number): void {
    if (count <= this.#keys.length) return
    const capacity = count * 2
    this.#keys = new Int32Array(capacity)
    this.#ordered = new Int32Array(capacity)
    this.#flags = new Uint8Array(capacity)
    this.#entries = new Uint32Array(capacity)
  }
}

/** @returns 1 if they differ, else 0 */
function differs(one: number, other: number): number {
  const difference = one ^ other
  return (difference | -difference) >>> 31
}
