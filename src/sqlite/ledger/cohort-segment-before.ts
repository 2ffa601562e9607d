// Segments as version 5 of ledger.db has them, whose lines began with more than which buckets have
// keys: the number n of keys, and in two words how many buckets have keys before each of the eight
// words. Then came n flags in their order, then the keys.

import {
  BUCKET_WORDS,
  keysAndFlagsEnd,
  LINE_TABLE_AT,
  setFlag,
  widthFor,
} from './cohort-segment.ts'
import type { Segment } from './cohort-segment.ts'
import { readBits, setBits } from './filter-bits.ts'

const HEADER_WORDS_BEFORE = BUCKET_WORDS + 3

/** Those of now have one entry more in the table of their lines. */
export function isOfVersionBefore(segment: Segment): boolean {
  return segment[LINE_TABLE_AT] === LINE_TABLE_AT + 2 ** (segment[0] ?? 0)
}

/** The same segment as it is written now. */
export function toPresentForm(before: Segment): Segment {
  const [lineBits = 0, count = 0] = before
  const lines = 2 ** lineBits
  const width = widthFor(lineBits)
  const segment = new Uint32Array(before.length)
  segment.set([lineBits, count])
  let at = LINE_TABLE_AT + lines + 1
  for (let lineNo = 0; lineNo < lines; lineNo++) {
    const old = before[LINE_TABLE_AT + lineNo] ?? 0
    const keys = before[old + BUCKET_WORDS] ?? 0
    const oldBits = old + HEADER_WORDS_BEFORE
    segment[LINE_TABLE_AT + lineNo] = at
    segment.set(before.subarray(old, old + BUCKET_WORDS), at)
    const keysAt = at + BUCKET_WORDS
    at = keysAndFlagsEnd(keysAt, keys, width)
    for (let place = 0; place < keys; place++) {
      const key = readBits(before, oldBits, keys + place * width, width)
      setBits(segment, keysAt, place * width, key)
      if (readBits(before, oldBits, place, 1) === 1) setFlag(segment, at, place)
    }
  }
  segment[LINE_TABLE_AT + lines] = at
  return segment.slice(0, at + 1)
}
