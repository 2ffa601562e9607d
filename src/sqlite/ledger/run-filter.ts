// The filter of a run: it answers "certainly not in this run" without touching the disk, for all
// but one of some thousand keys that are not there. A Bloom filter of the same size (key-filter.ts)
// lets several times as many pass, and each of them is a look-up on the disk.
//
// The keys of a run in their order are divided into lines of 1,024 bits, about 76 keys each. A
// line is a quotient filter: a key has a bucket in it, one of 128, and as a remainder as many bits
// as the line has left for each of its keys, so that where few keys came together they are told
// apart all the better.
//
//   128 bits   which buckets have keys
//   32 bits    how many buckets have keys before the second, third and last word of those; and n,
//              the number of keys (255: more than that, any key may be there)
//   b bits     for each bucket that has keys, whether it has more than one
//   n − b bits for each key that is not the first of its bucket, whether it is the last of it
//   the rest   the remainders: those of the first keys of all buckets, then the others; the first
//              few may have one bit more

import { KEY_WORDS } from '../event-key.ts'
import { bitsSet, readBits } from './filter-bits.ts'
import { copyFilter, mayContain } from './key-filter.ts'
import type { LedgerRun } from './ledger-run.ts'

export const LINE_WORDS = 32
export const BUCKET_WORDS = 4
/** Where a line's bits for each key begin. */
export const KEYS_AT_BIT = 160
const KEY_BITS = LINE_WORDS * 32 - KEYS_AT_BIT
/** The number of keys of a line that has more than can be told. */
export const OVERFULL = 255
const REMAINDER_BITS_MAX = 24

/** About so many keys a line has: fewer take more memory, more let more keys pass. */
const KEYS_PER_LINE = 76
const KEYS_PER_LINE_BEFORE = 72

/** What a run has in place of the word that a line comes from in a Bloom filter, as runs had. */
export const FILTER_WORD = -KEYS_PER_LINE

/** Keys that are asked about together: the caches hold their lines and the way there. */
const STRETCH = 1_024

/** By the number of keys of a line: the bits of each remainder, and how many have one more. */
export const REMAINDER_BITS = new Uint8Array(OVERFULL + 1).fill(1)
export const LONGER_REMAINDERS = new Uint16Array(OVERFULL + 1)
for (let count = 1; count < OVERFULL; count++) {
  const all = KEY_BITS - count
  const bits = Math.min(REMAINDER_BITS_MAX, Math.floor(all / count))
  REMAINDER_BITS[count] = bits
  LONGER_REMAINDERS[count] = bits === REMAINDER_BITS_MAX ? 0 : all - bits * count
}

/**
 * What a run that is going to be written has in its place: what it was planned with, for a part of
 * its filter may be stored. A version before may have planned it with a Bloom filter, and stored
 * nothing.
 */
export function filterWordToWrite(run: Pick<LedgerRun, 'filterWord'>): number {
  return hasQuotientFilter(run) ? run.filterWord : FILTER_WORD
}

export function hasQuotientFilter({ filterWord }: Pick<LedgerRun, 'filterWord'>): boolean {
  return filterWord < 0
}

/** How many lines the quotient filter of a run has. */
export function linesOf({ events, filterWord }: Pick<LedgerRun, 'events' | 'filterWord'>): number {
  const keys = filterWord === -1 ? KEYS_PER_LINE_BEFORE : -filterWord
  return Math.max(1, Math.ceil(events / keys))
}

/** Words of so many lines: one more, for two are read where one may do. */
export function wordsOf(lines: number): number {
  return lines * LINE_WORDS + 1
}

/** The line of a key; the number of lines where the first word is 2^32, after all keys. */
export function lineOf(lines: number, firstWord: number): number {
  return Math.floor((firstWord * lines) / 0x1_0000_0000)
}

/** A first word below which all keys are in lines before that one: the highest, or one lower. */
export function belowWordOfLine(line: number, lines: number): number {
  // `lineOf` rounds where a run has more than a hundred million events.
  return Math.max(0, Math.ceil((line * 0x1_0000_0000) / lines) - 1)
}

/** The same run without the lines that keys below that first word are in. */
export function cutBelow(run: LedgerRun, firstWord: number): LedgerRun {
  const firstLine = lineOf(linesOf(run), firstWord)
  const left = run.filter.subarray((firstLine - run.firstLine) * LINE_WORDS)
  return { ...run, filter: copyFilter(left), firstLine }
}

/** Whether the key at `offset` may be in the run: never false for one that is. */
export function mayBeIn(run: LedgerRun, keys: Uint32Array, offset: number): boolean {
  const { filter, filterWord } = run
  const w1 = keys[offset + 1] ?? 0
  const w2 = keys[offset + 2] ?? 0
  if (!hasQuotientFilter(run)) return mayContain(filter, keys[offset + filterWord] ?? 0, w1, w2)
  const line = lineOf(linesOf(run), keys[offset] ?? 0) - run.firstLine
  return mayBeInLine(filter, line * LINE_WORDS, w1, w2)
}

function mayBeInLine(filter: Uint32Array, at: number, w1: number, w2: number): boolean {
  if (isOccupied(filter, at, w1) === 0) return false
  if (countOf(filter, at) === OVERFULL) return true
  const place = firstPlaceOf(filter, at, w1)
  if (differs(filter, at, place, w2) === 0) return true
  const hasMore = readBits(filter, at, KEYS_AT_BIT + place, 1) === 1
  return hasMore && isFurther(filter, at, place, w2)
}

/** Branch-free: these branches would mispredict every second time. 0 = certainly absent. */
function isLikelyInLine(filter: Uint32Array, at: number, w1: number, w2: number): number {
  const place = firstPlaceOf(filter, at, w1)
  const difference = differs(filter, at, place, w2)
  const isSame = (difference - 1) >>> 31
  const isOverfull = (countOf(filter, at) + 1) >>> 8
  return isSame | isOverfull | readBits(filter, at, KEYS_AT_BIT + place, 1)
}

/** The place of the first key of a bucket that is occupied. */
function firstPlaceOf(filter: Uint32Array, at: number, w1: number): number {
  const bucketWord = w1 >>> 30
  const counts = filter[at + BUCKET_WORDS] ?? 0
  const isBefore = (filter[at + bucketWord] ?? 0) & ((1 << ((w1 >>> 25) & 31)) - 1)
  return (((counts << 8) >>> (bucketWord * 8)) & 255) + bitsSet(isBefore)
}

/** How many keys a line has. */
function countOf(filter: Uint32Array, at: number): number {
  return (filter[at + BUCKET_WORDS] ?? 0) >>> 24
}

/** @returns 1 where the key's bucket has keys */
function isOccupied(filter: Uint32Array, at: number, w1: number): number {
  return ((filter[at + (w1 >>> 30)] ?? 0) >>> ((w1 >>> 25) & 31)) & 1
}

/** @returns 0 where the key at that place has the remainder of a key, else what they differ in */
function differs(filter: Uint32Array, at: number, place: number, w2: number): number {
  const count = countOf(filter, at)
  const bits = REMAINDER_BITS[count] ?? 0
  const beyond = place - (LONGER_REMAINDERS[count] ?? 0)
  // −1 where the remainder is a longer one.
  const isLonger = beyond >> 31
  const width = bits - isLonger
  const bit = KEYS_AT_BIT + count + place * bits + place - (beyond & ~isLonger)
  return readBits(filter, at, bit, width) ^ (w2 >>> (32 - width))
}

/** Whether it is that of one of the further keys of the bucket whose first key is at a place. */
function isFurther(filter: Uint32Array, at: number, firstPlace: number, w2: number): boolean {
  const bucketsBeforeLastWord = ((filter[at + BUCKET_WORDS] ?? 0) >>> 16) & 255
  let place = bucketsBeforeLastWord + bitsSet(filter[at + BUCKET_WORDS - 1] ?? 0)
  // As many buckets before have further keys; each of them has a last one here.
  let left = bitsSetBefore(filter, at + KEYS_AT_BIT / 32, firstPlace)
  const isOneEach = left < 31 && readBits(filter, at, KEYS_AT_BIT + place, left) === (1 << left) - 1
  if (isOneEach) place += left
  else for (; left > 0; place++) left -= readBits(filter, at, KEYS_AT_BIT + place, 1)
  for (; ; place++) {
    if (differs(filter, at, place, w2) === 0) return true
    if (readBits(filter, at, KEYS_AT_BIT + place, 1) === 1) return false
  }
}

/** How many bits are set among so many, at most 128, of the words from `at` on. */
function bitsSetBefore(filter: Uint32Array, at: number, count: number): number {
  let sum = 0
  for (let word = 0; word < 4; word++) {
    // Without branches: as many as are in this word, and a mask of them.
    const beyond = count - word * 32
    const some = beyond & ~(beyond >> 31)
    const isAll = (31 - some) >> 31
    sum += bitsSet((filter[at + word] ?? 0) & (((1 << (some & 31)) - 1) | isAll))
  }
  return sum
}

/**
 * Asks filters about many keys at once.
 *
 * One key after the other would wait for its line of memory each time. Here the lines are all asked
 * for first, and so are on their way together; and what most keys fail at has no branches, which
 * nobody could foretell.
 */
export class RunFilterProbe {
  readonly #lines = new Int32Array(STRETCH)
  // Of the keys of a stretch, those that nothing speaks against yet.
  readonly #candidates = new Int32Array(STRETCH)
  /** Made of what was read ahead, or the reading would be left out. */
  fetched = 0

  /**
   * Which keys may be in the run: never misses one that is.
   *
   * @param keys four words each; none is in a line that has been given back
   * @param count how many of them are asked about
   * @returns their places, ascending
   */
  candidates(run: LedgerRun, keys: Uint32Array, count: number): number[] {
    const { filter } = run
    const places: number[] = []
    for (let start = 0; start < count; start += STRETCH) {
      const length = Math.min(STRETCH, count - start)
      const first = start * KEY_WORDS
      this.#fetchLines(run, keys, first, length)
      const found = this.#findCandidates(filter, keys, first, length)
      this.#fetchSecondHalves(filter, found)
      const likely = this.#keepLikely(filter, keys, first, found)
      for (let place = 0; place < likely; place++) {
        const at = this.#candidates[place] ?? 0
        const keyAt = first + at * KEY_WORDS
        const line = this.#lines[at] ?? 0
        const isKnown = mayBeInLine(filter, line, keys[keyAt + 1] ?? 0, keys[keyAt + 2] ?? 0)
        if (isKnown) places.push(start + at)
      }
    }
    return places
  }

  #fetchLines(run: LedgerRun, keys: Uint32Array, first: number, count: number): void {
    const { filter, firstLine } = run
    const linesOfRun = linesOf(run)
    const lines = this.#lines
    for (let at = 0; at < count; at++) {
      const line = lineOf(linesOfRun, keys[first + at * KEY_WORDS] ?? 0) - firstLine
      lines[at] = line * LINE_WORDS
    }
    let fetched = 0
    for (let at = 0; at < count; at++) fetched |= filter[lines[at] ?? 0] ?? 0
    this.fetched |= fetched
  }

  /** @returns how many keys have a bucket that has keys */
  #findCandidates(filter: Uint32Array, keys: Uint32Array, first: number, count: number): number {
    const lines = this.#lines
    const candidates = this.#candidates
    let found = 0
    for (let at = 0; at < count; at++) {
      candidates[found] = at
      found += isOccupied(filter, lines[at] ?? 0, keys[first + at * KEY_WORDS + 1] ?? 0)
    }
    return found
  }

  #fetchSecondHalves(filter: Uint32Array, candidates: number): void {
    const lines = this.#lines
    const candidateNos = this.#candidates
    let fetched = 0
    for (let place = 0; place < candidates; place++) {
      fetched |= filter[(lines[candidateNos[place] ?? 0] ?? 0) + LINE_WORDS / 2] ?? 0
    }
    this.fetched |= fetched
  }

  /** @returns how many have a remainder that is there, or a bucket that has further ones */
  #keepLikely(filter: Uint32Array, keys: Uint32Array, first: number, candidates: number): number {
    const lines = this.#lines
    const candidateNos = this.#candidates
    let kept = 0
    for (let place = 0; place < candidates; place++) {
      const at = candidateNos[place] ?? 0
      const keyAt = first + at * KEY_WORDS
      candidateNos[kept] = at
      const w1 = keys[keyAt + 1] ?? 0
      kept += isLikelyInLine(filter, lines[at] ?? 0, w1, keys[keyAt + 2] ?? 0)
    }
    return kept
  }
}
