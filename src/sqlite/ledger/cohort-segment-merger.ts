// Making a segment of a cohort's filter again with the keys of one more run: the keys that it has
// are read from it, those of the run are put among them, and all are written bucket by bucket.

import {
  BUCKET_BITS,
  BUCKET_WORDS,
  BUCKETS,
  keysAtBit,
  LINE_HEADER_WORDS,
  LINE_TABLE_AT,
  lineBitsFor,
  POSITION_BITS,
  SLOT_BITS,
} from './cohort-segment.ts'
import type { Segment } from './cohort-segment.ts'
import { bitsSet, readBits, setBits } from './filter-bits.ts'

export class SegmentMerger {
  // Positions with the slots behind them: those that there were, then those that are added.
  #keys = new Int32Array(0)
  #ordered = new Int32Array(0)
  /** By bucket, of all lines: one past its last key in that order. */
  #stops = new Int32Array(0)
  readonly #bucketsWithMore = new Int32Array(BUCKETS + 1)

  /**
   * @param added positions of keys of the run with that slot, in any order
   * @returns a segment with all keys
   */
  merge(old: Segment, added: Int32Array, slot: number): Segment {
    const count = (old[1] ?? 0) + added.length
    const lineBits = lineBitsFor(count)
    if (count > this.#keys.length) {
      this.#keys = new Int32Array(count * 1.25)
      this.#ordered = new Int32Array(count * 1.25)
    }
    const oldCount = this.#readAll(old)
    const keys = this.#keys.subarray(0, oldCount + added.length)
    for (let at = 0; at < added.length; at++) {
      keys[oldCount + at] = ((added[at] ?? 0) << SLOT_BITS) | slot
    }
    this.#order(keys, lineBits)
    return this.#write(keys.length, lineBits)
  }

  /** @returns how many keys it has */
  #readAll(segment: Segment): number {
    const lines = 2 ** (segment[0] ?? 0)
    let count = 0
    for (let line = 0; line < lines; line++) count = this.#readLine(segment, line, count)
    return count
  }

  /** @returns how many keys are read by now */
  #readLine(segment: Segment, lineNo: number, countBefore: number): number {
    const keys = this.#keys
    const more = this.#bucketsWithMore
    const width = widthFor(segment[0] ?? 0)
    const line = segment[LINE_TABLE_AT + lineNo] ?? 0
    const keysAt = keysAtBit(segment, line)
    const stop = segment[line + BUCKET_WORDS] ?? 0
    let withMore = 0
    let place = 0
    for (let word = 0; word < BUCKET_WORDS; word++) {
      for (let left = segment[line + word] ?? 0; left !== 0; left &= left - 1) {
        const bucket = (lineNo << BUCKET_BITS) | (word * 32 + 31 - Math.clz32(left & -left))
        const key = readBits(segment, line, keysAt + place * width, width)
        keys[countBefore + place] = (bucket << width) | key
        more[withMore] = bucket
        withMore += readBits(segment, line + LINE_HEADER_WORDS, place++, 1)
      }
    }
    let at = 0
    for (; place < stop; place++) {
      const key = readBits(segment, line, keysAt + place * width, width)
      keys[countBefore + place] = ((more[at] ?? 0) << width) | key
      at += readBits(segment, line + LINE_HEADER_WORDS, place, 1)
    }
    return countBefore + stop
  }

  #order(keys: Int32Array, lineBits: number): void {
    const buckets = 2 ** (lineBits + BUCKET_BITS)
    const width = widthFor(lineBits)
    if (buckets > this.#stops.length) this.#stops = new Int32Array(buckets)
    const next = this.#stops.fill(0, 0, buckets)
    for (let at = 0; at < keys.length; at++) {
      const bucket = (keys[at] ?? 0) >>> width
      next[bucket] = (next[bucket] ?? 0) + 1
    }
    let sum = 0
    for (let bucket = 0; bucket < buckets; bucket++) {
      const count = next[bucket] ?? 0
      next[bucket] = sum
      sum += count
    }
    const ordered = this.#ordered
    for (let at = 0; at < keys.length; at++) {
      const key = keys[at] ?? 0
      const place = next[key >>> width] ?? 0
      next[key >>> width] = place + 1
      ordered[place] = key
    }
  }

  #write(count: number, lineBits: number): Segment {
    const lines = 2 ** lineBits
    const bitsOfKey = widthFor(lineBits) + 1
    const stopOf = (line: number) => this.#stops[(line + 1) * BUCKETS - 1] ?? 0
    const wordsFor = (keys: number) => LINE_HEADER_WORDS + Math.ceil((keys * bitsOfKey) / 32)
    let words = LINE_TABLE_AT + lines
    for (let line = 0, start = 0; line < lines; line++) {
      words += wordsFor(stopOf(line) - start)
      start = stopOf(line)
    }
    const segment = new Uint32Array(words + 1)
    segment[0] = lineBits
    segment[1] = count
    let at = LINE_TABLE_AT + lines
    for (let line = 0, start = 0; line < lines; line++) {
      segment[LINE_TABLE_AT + line] = at
      this.#writeLine(segment, line, start)
      at += wordsFor(stopOf(line) - start)
      start = stopOf(line)
    }
    return segment
  }

  /** @param start the place of the line's first key in their order */
  #writeLine(segment: Segment, lineNo: number, start: number): void {
    const ordered = this.#ordered
    const width = widthFor(segment[0] ?? 0)
    const line = segment[LINE_TABLE_AT + lineNo] ?? 0
    const stop = this.#stops[(lineNo + 1) * BUCKETS - 1] ?? 0
    segment[line + BUCKET_WORDS] = stop - start
    const keysAt = keysAtBit(segment, line)
    let first = 0
    let further = this.#writeBuckets(segment, line, start, stop)
    let before = -1
    // Without branches, which nobody could foretell.
    for (let at = start; at < stop; at++) {
      const key = ordered[at] ?? 0
      const bucket = key >>> width
      const next = at + 1 < stop ? (ordered[at + 1] ?? 0) >>> width : -1
      const isFirst = Number(bucket !== before)
      const isLast = Number(bucket !== next)
      const place = isFirst * first + (1 - isFirst) * further
      first += isFirst
      further += 1 - isFirst
      setBits(segment, line + LINE_HEADER_WORDS, place, isFirst ^ isLast)
      setBits(segment, line, keysAt + place * width, key & ((1 << width) - 1))
      before = bucket
    }
  }

  /** @returns how many buckets have keys */
  #writeBuckets(segment: Segment, line: number, start: number, stop: number): number {
    const width = widthFor(segment[0] ?? 0)
    for (let at = start; at < stop; at++) {
      const bucket = ((this.#ordered[at] ?? 0) >>> width) & (BUCKETS - 1)
      const word = line + (bucket >>> 5)
      segment[word] = (segment[word] ?? 0) | (1 << (bucket & 31))
    }
    let used = 0
    for (let word = 0; word < BUCKET_WORDS; word++) {
      setBits(segment, line + BUCKET_WORDS + 1, word * 8, used)
      used += bitsSet(segment[line + word] ?? 0)
    }
    return used
  }
}

/** The bits of a key that are not its line and bucket, with its slot. */
function widthFor(lineBits: number): number {
  return POSITION_BITS - BUCKET_BITS - lineBits + SLOT_BITS
}
