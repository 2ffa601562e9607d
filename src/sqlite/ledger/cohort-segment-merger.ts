// Rebuilds a segment of a cohort's filter with the keys of one more run, line by line: the keys of
// a line are read, those of the run are inserted, and all are written to the line or lines that it
// becomes. The work per key has no unpredictable branches: over its life, a run of eight million
// events has a hundred million keys processed.

import {
  BUCKET_BITS,
  BUCKET_WORDS,
  BUCKETS,
  EMPTY_SEGMENT,
  flagOf,
  keysAndFlagsEnd,
  keysOfLineMax,
  LINE_TABLE_AT,
  lineBitsFor,
  POSITION_BITS,
  SLOT_BITS,
  startOfLine,
  widthFor,
} from './cohort-segment.ts'
import type { Segment } from './cohort-segment.ts'
import { toStarts } from './counting-sort.ts'
import { bitsSet, readBits } from './filter-bits.ts'

// A key here is its position with the slot behind it.

export class SegmentMerger {
  /** The added keys by the old line they belong to, and where those of each line end. */
  #added = new Int32Array(0)
  #addedStops = new Int32Array(0)
  // The keys of one old line: as read, and by bucket of the new lines.
  #keys = new Int32Array(0)
  #ordered = new Int32Array(0)
  #stops = new Int32Array(0)
  #bucketsUsed = new Uint32Array(0)
  /** Receives the new segment; larger than it. */
  #segment: Segment = EMPTY_SEGMENT
  readonly #bucketsWithMore = new Int32Array(BUCKETS + 1)
  // For the line being written, in the order in which keys are stored.
  #flags = new Uint8Array(0)
  #entries = new Uint32Array(0)

  /**
   * @param added positions of the keys of the run with that slot, in any order
   * @returns a segment with all keys
   */
  merge(old: Segment, added: Int32Array, slot: number): Segment {
    const count = (old[1] ?? 0) + added.length
    const oldLineBits = old[0] ?? 0
    const lineBits = Math.max(oldLineBits, lineBitsFor(count))
    const lines = 2 ** lineBits
    const width = widthFor(lineBits)
    const wordsMax =
      LINE_TABLE_AT + 2 + lines * (BUCKET_WORDS + 2) + Math.ceil((count * (width + 1)) / 32)
    if (this.#segment.length < wordsMax) this.#segment = new Uint32Array(wordsMax * 1.25)
    const segment = this.#segment
    segment[0] = lineBits
    segment[1] = count
    this.#orderAdded(added, slot, oldLineBits)
    const split = 2 ** (lineBits - oldLineBits)
    let at = LINE_TABLE_AT + lines + 1
    for (let oldLine = 0; oldLine < 2 ** oldLineBits; oldLine++) {
      this.#order(this.#gather(old, oldLine), width, split)
      for (let part = 0; part < split; part++) {
        segment[LINE_TABLE_AT + oldLine * split + part] = at
        at = this.#writeLine(segment, at, part)
      }
    }
    segment[LINE_TABLE_AT + lines] = at
    segment[at++] = 0
    return segment.slice(0, at)
  }

  #orderAdded(added: Int32Array, slot: number, oldLineBits: number): void {
    const lines = 2 ** oldLineBits
    if (this.#addedStops.length < lines) this.#addedStops = new Int32Array(lines)
    if (this.#added.length < added.length) this.#added = new Int32Array(added.length)
    const next = this.#addedStops.fill(0, 0, lines)
    const lineOf = (position: number) => position >>> (POSITION_BITS - oldLineBits)
    for (let at = 0; at < added.length; at++) {
      const line = lineOf(added[at] ?? 0)
      next[line] = (next[line] ?? 0) + 1
    }
    toStarts(next, lines)
    for (let at = 0; at < added.length; at++) {
      const position = added[at] ?? 0
      const place = next[lineOf(position)] ?? 0
      next[lineOf(position)] = place + 1
      this.#added[place] = (position << SLOT_BITS) | slot
    }
  }

  /** @returns the number of keys for the new lines: those already there and the added ones */
  #gather(old: Segment, oldLine: number): number {
    const start = oldLine === 0 ? 0 : (this.#addedStops[oldLine - 1] ?? 0)
    const stop = this.#addedStops[oldLine] ?? 0
    const line = startOfLine(old, oldLine)
    const keysMax = keysOfLineMax(old, line, startOfLine(old, oldLine + 1))
    this.#reserve(keysMax + stop - start)
    const read = this.#readLine(old, oldLine, keysMax)
    this.#keys.set(this.#added.subarray(start, stop), read)
    return read + stop - start
  }

  /** @returns the number of keys in the line */
  #readLine(segment: Segment, lineNo: number, keysMax: number): number {
    const keys = this.#keys
    const more = this.#bucketsWithMore
    const width = widthFor(segment[0] ?? 0)
    const line = startOfLine(segment, lineNo)
    const end = startOfLine(segment, lineNo + 1)
    const keysAt = line + BUCKET_WORDS
    let withMore = 0
    let place = 0
    for (let word = 0; word < BUCKET_WORDS; word++) {
      const firstBucket = (lineNo << BUCKET_BITS) | (word * 32)
      for (let left = segment[line + word] ?? 0; left !== 0; left &= left - 1) {
        const bucket = firstBucket + 31 - Math.clz32(left & -left)
        keys[place] = (bucket << width) | readBits(segment, keysAt, place * width, width)
        more[withMore] = bucket
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
    const buckets = BUCKETS * split
    if (this.#stops.length < buckets) {
      this.#stops = new Int32Array(buckets)
      this.#bucketsUsed = new Uint32Array(buckets / 32)
    }
    const next = this.#stops.fill(0, 0, buckets)
    for (let at = 0; at < count; at++) {
      const bucket = ((keys[at] ?? 0) >>> width) & (buckets - 1)
      next[bucket] = (next[bucket] ?? 0) + 1
    }
    let sum = 0
    for (let word = 0; word < buckets / 32; word++) {
      let used = 0
      for (let bit = 0; bit < 32; bit++) {
        const bucket = word * 32 + bit
        const some = next[bucket] ?? 0
        used |= (-some >>> 31) << bit
        next[bucket] = sum
        sum += some
      }
      this.#bucketsUsed[word] = used
    }
    for (let at = 0; at < count; at++) {
      const key = keys[at] ?? 0
      const bucket = (key >>> width) & (buckets - 1)
      const place = next[bucket] ?? 0
      next[bucket] = place + 1
      ordered[place] = key
    }
  }

  /**
   * @param part which of the lines that an old one becomes
   * @returns where the next line begins
   */
  #writeLine(segment: Segment, line: number, part: number): number {
    const start = part === 0 ? 0 : (this.#stops[part * BUCKETS - 1] ?? 0)
    const stop = this.#stops[(part + 1) * BUCKETS - 1] ?? 0
    const used = this.#writeBucketsUsed(segment, line, part)
    const width = widthFor(segment[0] ?? 0)
    const ordered = this.#ordered
    const flags = this.#flags
    const entries = this.#entries
    const mask = (1 << width) - 1
    let first = 0
    let further = used
    let before = -1
    let bucket = (ordered[start] ?? 0) >>> width
    for (let at = start; at < stop; at++) {
      const next = at + 1 < stop ? (ordered[at + 1] ?? 0) >>> width : -1
      const isFirst = differs(bucket, before)
      const place = further + (first - further) * isFirst
      first += isFirst
      further += 1 - isFirst
      flags[place] = isFirst ^ differs(bucket, next)
      entries[place] = (ordered[at] ?? 0) & mask
      before = bucket
      bucket = next
    }
    return this.#writeKeys(segment, line + BUCKET_WORDS, stop - start)
  }

  /** @returns the number of buckets that are not empty */
  #writeBucketsUsed(segment: Segment, line: number, part: number): number {
    let used = 0
    for (let word = 0; word < BUCKET_WORDS; word++) {
      const bits = this.#bucketsUsed[part * BUCKET_WORDS + word] ?? 0
      segment[line + word] = bits
      used += bitsSet(bits)
    }
    return used
  }

  /** @returns where the line ends */
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
