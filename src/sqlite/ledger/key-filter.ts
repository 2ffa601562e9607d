// A blocked Bloom filter over event keys: a key sets seven bits in one cache line of 512. One word
// of the key selects the line, its second and third the bits. With ten bits per key, one unknown
// key in 110 passes; with sixteen, one in a thousand.

import { KEY_WORDS } from '../event-key.ts'
import { EVENT_BYTES } from './run-block.ts'

export const LINE_WORDS = 16
const LINE_BYTES = LINE_WORDS * 4

/**
 * Where a filter begins in its memory, so that its lines match the processor's: glibc places large
 * allocations 16 bytes after the beginning of a page. Otherwise most keys would take two lines from
 * memory, and three times as long.
 */
const FIRST_LINE_AT = LINE_BYTES - 16

/** Keys asked about together: their lines stay in the nearest caches. */
const STRETCH = 1_024

/** An empty filter for that many keys, in memory that threads can share. */
export function newFilter(keys: number, bitsPerKey: number): Uint32Array<SharedArrayBuffer> {
  const lines = Math.max(1, Math.ceil((keys * bitsPerKey) / (LINE_BYTES * 8)))
  const memory = new SharedArrayBuffer((lines + 1) * LINE_BYTES)
  return new Uint32Array(memory, FIRST_LINE_AT, lines * LINE_WORDS)
}

/** Adds a key: the word that selects its line, its second and its third. */
export function addToFilter(filter: Uint32Array, lineWord: number, w1: number, w2: number): void {
  const line = lineOf(filter, lineWord)
  for (let bit = 0; bit < 3; bit++) {
    setBit(filter, line, (w1 >>> (bit * 9)) & 511)
    setBit(filter, line, (w2 >>> (bit * 9)) & 511)
  }
  setBit(filter, line, (w1 >>> 27) | (((w2 >>> 27) << 5) & 511))
}

/** Adds the keys of packed events. @param lineWord which word of a key selects its line */
export function addEventsToFilter(filter: Uint32Array, lineWord: number, entries: Buffer): void {
  for (let at = 0; at < entries.length; at += EVENT_BYTES) {
    const word = entries.readUInt32LE(at + lineWord * 4)
    addToFilter(filter, word, entries.readUInt32LE(at + 4), entries.readUInt32LE(at + 8))
  }
}

/** Lets every key of a segment pass, in a filter whose lines are selected by the first word. */
export function fillSegment(filter: Uint32Array, segment: number): void {
  const [first, last] = [segment * 0x100_0000, segment * 0x100_0000 + 0xff_ffff]
  filter.fill(0xffff_ffff, lineOf(filter, first), lineOf(filter, last) + LINE_WORDS)
}

/** Whether the key may have been added: never false for one that was. */
export function mayContain(filter: Uint32Array, lineWord: number, w1: number, w2: number): boolean {
  return hasLineBits(filter, lineOf(filter, lineWord), w1, w2)
}

function hasLineBits(filter: Uint32Array, line: number, w1: number, w2: number): boolean {
  return (
    hasBit(filter, line, w1 & 511) &&
    hasBit(filter, line, w2 & 511) &&
    hasBit(filter, line, (w1 >>> 9) & 511) &&
    hasBit(filter, line, (w2 >>> 9) & 511) &&
    hasBit(filter, line, (w1 >>> 18) & 511) &&
    hasBit(filter, line, (w2 >>> 18) & 511) &&
    hasBit(filter, line, (w1 >>> 27) | (((w2 >>> 27) << 5) & 511))
  )
}

/** Asks filters about many keys at once. */
export class FilterProbe {
  readonly #lines = new Int32Array(STRETCH)
  readonly #candidates = new Int32Array(STRETCH)
  /** Made from what was prefetched; otherwise the optimizer would drop the reads. */
  fetched = 0

  /**
   * Finds which keys may have been added: never misses one that was.
   *
   * Key by key, each would wait for its line of memory. Here all lines are requested first and
   * arrive together; the first tests are branch-free, because their branches would be
   * unpredictable.
   *
   * @param lineWord which word of a key selects its line
   * @param keys four words per key
   * @param places the keys to ask about
   * @returns the places of those that may have been added, in the same order
   */
  candidates(
    filter: Uint32Array,
    lineWord: number,
    keys: Uint32Array,
    places: readonly number[],
  ): number[] {
    const candidates: number[] = []
    for (let start = 0; start < places.length; start += STRETCH) {
      const some = places.slice(start, start + STRETCH)
      this.#fetchLines(filter, lineWord, keys, some)
      const count = this.#findCandidates(filter, keys, some)
      for (let candidate = 0; candidate < count; candidate++) {
        const at = this.#candidates[candidate] ?? 0
        const place = some[at] ?? 0
        const keyAt = place * KEY_WORDS
        const line = this.#lines[at] ?? 0
        const isKnown = hasLineBits(filter, line, keys[keyAt + 1] ?? 0, keys[keyAt + 2] ?? 0)
        if (isKnown) candidates.push(place)
      }
    }
    return candidates
  }

  #fetchLines(
    filter: Uint32Array,
    lineWord: number,
    keys: Uint32Array,
    places: readonly number[],
  ): void {
    const lines = this.#lines
    for (let at = 0; at < places.length; at++) {
      lines[at] = lineOf(filter, keys[(places[at] ?? 0) * KEY_WORDS + lineWord] ?? 0)
    }
    let fetched = 0
    for (let at = 0; at < places.length; at++) fetched |= filter[lines[at] ?? 0] ?? 0
    this.fetched |= fetched
  }

  /** @returns the number of keys with three of their bits set */
  #findCandidates(filter: Uint32Array, keys: Uint32Array, places: readonly number[]): number {
    const lines = this.#lines
    const candidates = this.#candidates
    let found = 0
    for (let at = 0; at < places.length; at++) {
      const line = lines[at] ?? 0
      const keyAt = (places[at] ?? 0) * KEY_WORDS
      const w1 = keys[keyAt + 1] ?? 0
      const w2 = keys[keyAt + 2] ?? 0
      const bits = bitAt(filter, line, w1) & bitAt(filter, line, w2) & bitAt(filter, line, w1 >>> 9)
      candidates[found] = at
      found += bits & 1
    }
    return found
  }
}

/** Where the line of a key begins: the selecting word, scaled to the number of lines. */
function lineOf(filter: Uint32Array, word: number): number {
  return Math.floor((word / 0x1_0000_0000) * (filter.length / LINE_WORDS)) * LINE_WORDS
}

function setBit(filter: Uint32Array, line: number, bit: number): void {
  const at = line + (bit >>> 5)
  filter[at] = (filter[at] ?? 0) | (1 << (bit & 31))
}

function hasBit(filter: Uint32Array, line: number, bit: number): boolean {
  return ((filter[line + (bit >>> 5)] ?? 0) & (1 << (bit & 31))) !== 0
}

/** The bit named by nine bits of a word, in the lowest place. */
function bitAt(filter: Uint32Array, line: number, word: number): number {
  return (filter[line + ((word & 511) >>> 5)] ?? 0) >>> (word & 31)
}
