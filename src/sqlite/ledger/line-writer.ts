// Writing the lines of a run's filter (run-filter.ts). Keys may come in any order before the line
// that they are in is closed.

import { toStarts } from './counting-sort.ts'
import { setBits } from './filter-bits.ts'
import {
  BUCKET_WORDS,
  KEYS_AT_BIT,
  LINE_WORDS,
  LONGER_REMAINDERS,
  OVERFULL,
  REMAINDER_BITS,
} from './run-filter.ts'

const BUCKETS = BUCKET_WORDS * 32

export class LineWriter {
  // Keys of lines that are not closed: which line, and the key's second and third word.
  #line = new Int32Array(0)
  #w1 = new Uint32Array(0)
  #w2 = new Uint32Array(0)
  #count = 0
  // Those of the lines being closed, line by line; their remainders, bucket by bucket.
  #w1ByLine = new Uint32Array(0)
  #w2ByLine = new Uint32Array(0)
  #stopOfLine = new Int32Array(0)
  readonly #stopOfBucket = new Int32Array(BUCKETS)
  readonly #remainders = new Uint32Array(OVERFULL)

  add(line: number, w1: number, w2: number): void {
    if (this.#count === this.#line.length) this.#grow()
    this.#line[this.#count] = line
    this.#w1[this.#count] = w1
    this.#w2[this.#count] = w2
    this.#count++
  }

  /** Writes the lines [firstLine, stopLine), zeros so far; no key of an earlier one may be open. */
  close(filter: Uint32Array, firstLine: number, stopLine: number): void {
    this.#orderByLine(firstLine, stopLine)
    let start = 0
    for (let line = firstLine; line < stopLine; line++) {
      const stop = this.#stopOfLine[line - firstLine] ?? 0
      if (stop > start) this.#write(filter, line * LINE_WORDS, start, stop)
      start = stop
    }
  }

  /** Leaves the keys of later lines where they are. */
  #orderByLine(firstLine: number, stopLine: number): void {
    const lines = stopLine - firstLine
    if (lines > this.#stopOfLine.length) this.#stopOfLine = new Int32Array(lines)
    const next = this.#stopOfLine.fill(0, 0, lines)
    for (let key = 0; key < this.#count; key++) {
      const line = (this.#line[key] ?? 0) - firstLine
      if (line < lines) next[line] = (next[line] ?? 0) + 1
    }
    toStarts(next, lines)
    let left = 0
    for (let key = 0; key < this.#count; key++) {
      const line = (this.#line[key] ?? 0) - firstLine
      const w1 = this.#w1[key] ?? 0
      const w2 = this.#w2[key] ?? 0
      if (line < lines) {
        const place = next[line] ?? 0
        next[line] = place + 1
        this.#w1ByLine[place] = w1
        this.#w2ByLine[place] = w2
      } else {
        this.#line[left] = line + firstLine
        this.#w1[left] = w1
        this.#w2[left] = w2
        left++
      }
    }
    this.#count = left
  }

  #write(filter: Uint32Array, at: number, start: number, stop: number): void {
    const count = stop - start
    if (count >= OVERFULL) {
      filter.fill(0xffff_ffff, at, at + BUCKET_WORDS)
      filter[at + BUCKET_WORDS] = OVERFULL << 24
      return
    }
    this.#orderByBucket(start, stop)
    const buckets = this.#writeBuckets(filter, at, count)
    const bits = REMAINDER_BITS[count] ?? 0
    const longer = LONGER_REMAINDERS[count] ?? 0
    const remaindersAt = KEYS_AT_BIT + count
    let place = 0
    let furtherPlace = buckets
    let from = 0
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      const to = this.#stopOfBucket[bucket] ?? 0
      for (let key = from; key < to; key++) {
        const own = key === from ? place++ : furtherPlace++
        const isLast = key === to - 1
        const isSet = key === from ? !isLast : isLast
        if (isSet) setBits(filter, at, KEYS_AT_BIT + own, 1)
        const width = own < longer ? bits + 1 : bits
        const bit = remaindersAt + own * bits + Math.min(own, longer)
        setBits(filter, at, bit, (this.#remainders[key] ?? 0) >>> (32 - width))
      }
      from = to
    }
  }

  /** @returns how many buckets have keys */
  #writeBuckets(filter: Uint32Array, at: number, count: number): number {
    let counts = count << 24
    let buckets = 0
    let before = 0
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      if (bucket > 0 && bucket % 32 === 0) counts |= buckets << (bucket / 4 - 8)
      const stop = this.#stopOfBucket[bucket] ?? 0
      if (stop > before) {
        setBits(filter, at, bucket, 1)
        buckets++
      }
      before = stop
    }
    filter[at + BUCKET_WORDS] = counts
    return buckets
  }

  #orderByBucket(start: number, stop: number): void {
    const next = this.#stopOfBucket.fill(0)
    for (let key = start; key < stop; key++) {
      const bucket = (this.#w1ByLine[key] ?? 0) >>> 25
      next[bucket] = (next[bucket] ?? 0) + 1
    }
    toStarts(next, BUCKETS)
    for (let key = start; key < stop; key++) {
      const bucket = (this.#w1ByLine[key] ?? 0) >>> 25
      const place = next[bucket] ?? 0
      next[bucket] = place + 1
      this.#remainders[place] = this.#w2ByLine[key] ?? 0
    }
  }

  #grow(): void {
    const capacity = Math.max(1_024, this.#line.length * 2)
    const line = new Int32Array(capacity)
    line.set(this.#line)
    this.#line = line
    this.#w1 = grown(this.#w1, capacity)
    this.#w2 = grown(this.#w2, capacity)
    this.#w1ByLine = new Uint32Array(capacity)
    this.#w2ByLine = new Uint32Array(capacity)
  }
}

function grown(words: Uint32Array, capacity: number): Uint32Array<ArrayBuffer> {
  const copy = new Uint32Array(capacity)
  copy.set(words)
  return copy
}
