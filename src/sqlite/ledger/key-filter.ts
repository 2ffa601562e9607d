// A blocked Bloom filter over event keys: a key sets seven bits in one cache line of 512. One word
// of the key selects the cache line, its second and third the bits. With ten bits per key, one
// unknown key in 110 passes; with sixteen, one in a thousand.

import { KEY_WORDS } from '../event-key.ts'

export const CACHE_LINE_WORDS = 16
const CACHE_LINE_BYTES = CACHE_LINE_WORDS * 4

/**
 * Where a filter begins in its memory, so that its cache lines are the processor's: glibc places
 * large allocations 16 bytes after the beginning of a page. Otherwise most keys would take two
 * cache lines from memory, and three times as long.
 */
const FIRST_CACHE_LINE_AT = CACHE_LINE_BYTES - 16

/** Keys asked about together: their cache lines stay in the nearest caches. */
const STRETCH = 1_024

/** An empty filter for that many keys, in memory that threads can share. */
export function newFilter(keys: number, bitsPerKey: number): Uint32Array<SharedArrayBuffer> {
  const cacheLines = Math.max(1, Math.ceil((keys * bitsPerKey) / (CACHE_LINE_BYTES * 8)))
  const memory = new SharedArrayBuffer((cacheLines + 1) * CACHE_LINE_BYTES)
  return new Uint32Array(memory, FIRST_CACHE_LINE_AT, cacheLines * CACHE_LINE_WORDS)
}

/** Adds a key: the word that selects its cache line, its second and its third. */
export function addToFilter(
  filter: Uint32Array,
  cacheLineWord: number,
  w1: number,
  w2: number,
): void {
  const cacheLine = cacheLineOf(filter, cacheLineWord)
  for (let bit = 0; bit < 3; bit++) {
    setBit(filter, cacheLine, (w1 >>> (bit * 9)) & 511)
    setBit(filter, cacheLine, (w2 >>> (bit * 9)) & 511)
  }
  setBit(filter, cacheLine, (w1 >>> 27) | (((w2 >>> 27) << 5) & 511))
}

/** Lets every key of a segment pass, in a filter whose cache lines the first word selects. */
export function fillSegment(filter: Uint32Array, segment: number): void {
  const [first, last] = [segment * 0x100_0000, segment * 0x100_0000 + 0xff_ffff]
  filter.fill(0xffff_ffff, cacheLineOf(filter, first), cacheLineOf(filter, last) + CACHE_LINE_WORDS)
}

/** Whether the key may have been added: never false for one that was. */
export function mayContain(
  filter: Uint32Array,
  cacheLineWord: number,
  w1: number,
  w2: number,
): boolean {
  return hasBits(filter, cacheLineOf(filter, cacheLineWord), w1, w2)
}

function hasBits(filter: Uint32Array, cacheLine: number, w1: number, w2: number): boolean {
  return (
    hasBit(filter, cacheLine, w1 & 511) &&
    hasBit(filter, cacheLine, w2 & 511) &&
    hasBit(filter, cacheLine, (w1 >>> 9) & 511) &&
    hasBit(filter, cacheLine, (w2 >>> 9) & 511) &&
    hasBit(filter, cacheLine, (w1 >>> 18) & 511) &&
    hasBit(filter, cacheLine, (w2 >>> 18) & 511) &&
    hasBit(filter, cacheLine, (w1 >>> 27) | (((w2 >>> 27) << 5) & 511))
  )
}

/** Asks filters about many keys at once. */
export class FilterProbe {
  readonly #cacheLines = new Int32Array(STRETCH)
  readonly #candidates = new Int32Array(STRETCH)
  /** Made from what was prefetched; otherwise the optimizer would drop the reads. */
  fetched = 0

  /**
   * Finds which keys may have been added: never misses one that was.
   *
   * Key by key, each would wait for its cache line. Here all are requested first and arrive
   * together; the first tests are branch-free, because their branches would be unpredictable.
   *
   * @param cacheLineWord which word of a key selects its cache line
   * @param keys four words per key
   * @param places the keys to ask about
   * @returns the places of those that may have been added, in the same order
   */
  candidates(
    filter: Uint32Array,
    cacheLineWord: number,
    keys: Uint32Array,
    places: readonly number[],
  ): number[] {
    const candidates: number[] = []
    for (let start = 0; start < places.length; start += STRETCH) {
      const some = places.slice(start, start + STRETCH)
      this.#fetchCacheLines(filter, cacheLineWord, keys, some)
      const count = this.#findCandidates(filter, keys, some)
      for (let candidate = 0; candidate < count; candidate++) {
        const at = this.#candidates[candidate] ?? 0
        const place = some[at] ?? 0
        const keyAt = place * KEY_WORDS
        const cacheLine = this.#cacheLines[at] ?? 0
        const isKnown = hasBits(filter, cacheLine, keys[keyAt + 1] ?? 0, keys[keyAt + 2] ?? 0)
        if (isKnown) candidates.push(place)
      }
    }
    return candidates
  }

  #fetchCacheLines(
    filter: Uint32Array,
    cacheLineWord: number,
    keys: Uint32Array,
    places: readonly number[],
  ): void {
    const cacheLines = this.#cacheLines
    for (let at = 0; at < places.length; at++) {
      cacheLines[at] = cacheLineOf(filter, keys[(places[at] ?? 0) * KEY_WORDS + cacheLineWord] ?? 0)
    }
    let fetched = 0
    for (let at = 0; at < places.length; at++) fetched |= filter[cacheLines[at] ?? 0] ?? 0
    this.fetched |= fetched
  }

  /** @returns the number of keys with three of their bits set */
  #findCandidates(filter: Uint32Array, keys: Uint32Array, places: readonly number[]): number {
    const cacheLines = this.#cacheLines
    const candidates = this.#candidates
    let found = 0
    for (let at = 0; at < places.length; at++) {
      const cacheLine = cacheLines[at] ?? 0
      const keyAt = (places[at] ?? 0) * KEY_WORDS
      const w1 = keys[keyAt + 1] ?? 0
      const w2 = keys[keyAt + 2] ?? 0
      const bits =
        bitAt(filter, cacheLine, w1) &
        bitAt(filter, cacheLine, w2) &
        bitAt(filter, cacheLine, w1 >>> 9)
      candidates[found] = at
      found += bits & 1
    }
    return found
  }
}

/** Where the cache line of a key begins: the selecting word, scaled to their number. */
function cacheLineOf(filter: Uint32Array, word: number): number {
  return Math.floor((word / 0x1_0000_0000) * (filter.length / CACHE_LINE_WORDS)) * CACHE_LINE_WORDS
}

function setBit(filter: Uint32Array, cacheLine: number, bit: number): void {
  const at = cacheLine + (bit >>> 5)
  filter[at] = (filter[at] ?? 0) | (1 << (bit & 31))
}

function hasBit(filter: Uint32Array, cacheLine: number, bit: number): boolean {
  return ((filter[cacheLine + (bit >>> 5)] ?? 0) & (1 << (bit & 31))) !== 0
}

/** The bit named by nine bits of a word, in the lowest place. */
function bitAt(filter: Uint32Array, cacheLine: number, word: number): number {
  return (filter[cacheLine + ((word & 511) >>> 5)] ?? 0) >>> (word & 31)
}
