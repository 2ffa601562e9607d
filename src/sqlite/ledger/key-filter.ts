// A blocked Bloom filter over event keys, for keys that come in any order: one cache line of 512
// bits a key, seven bits in it. Of the keys that are not there about one in 110 passes.
//
// The line comes from one word of the key, the bits from its second and third.

import { KEY_WORDS } from '../event-key.ts'
import { EVENT_BYTES } from './run-block.ts'

export const LINE_WORDS = 16
const LINE_BYTES = LINE_WORDS * 4

/**
 * Where in its memory a filter begins, so that each of its lines is one of the processor's: what is
 * large is given out 16 bytes after the beginning of a page (glibc). Else most keys would take two
 * lines from memory, and asking three times as long.
 */
const FIRST_LINE_AT = LINE_BYTES - 16

/** Keys that are asked about together: their lines stay in the nearest caches. */
const STRETCH = 1_024

const BITS_PER_KEY = 10

/** Words of a filter for that many keys, whole cache lines. */
export function filterWords(keys: number): number {
  return Math.ceil((keys * BITS_PER_KEY) / 512) * LINE_WORDS
}

/** Bytes of memory that `filterIn` makes a filter of so many words of. */
export function filterBytes(words: number): number {
  return words * 4 + LINE_BYTES
}

/** The filter in a piece of memory of its own. */
export function filterIn<Memory extends ArrayBufferLike>(memory: Memory): Uint32Array<Memory> {
  return new Uint32Array(memory, FIRST_LINE_AT, (memory.byteLength - LINE_BYTES) / 4)
}

/** A copy of a filter, in a piece of memory of its own. */
export function copyFilter(filter: Uint32Array): Uint32Array {
  const copy = filterIn(new ArrayBuffer(filterBytes(filter.length)))
  copy.set(filter)
  return copy
}

/** Adds a key: the word that its line comes from, its second and its third. */
export function addToFilter(filter: Uint32Array, lineWord: number, w1: number, w2: number): void {
  const line = lineOf(filter, lineWord)
  for (let bit = 0; bit < 3; bit++) {
    setBit(filter, line, (w1 >>> (bit * 9)) & 511)
    setBit(filter, line, (w2 >>> (bit * 9)) & 511)
  }
  setBit(filter, line, (w1 >>> 27) | (((w2 >>> 27) << 5) & 511))
}

/** Adds the keys of packed events. */
export function addEventsToFilter(filter: Uint32Array, entries: Buffer): void {
  for (let at = 0; at < entries.length; at += EVENT_BYTES) {
    const w0 = entries.readUInt32LE(at)
    addToFilter(filter, w0, entries.readUInt32LE(at + 4), entries.readUInt32LE(at + 8))
  }
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
  /** Made of what was read ahead, or the reading would be left out. */
  fetched = 0

  /**
   * Which keys may have been added: never misses one that was.
   *
   * One key after the other would wait for its line of memory each time. Here the lines are all
   * asked for first, and so are on their way together; the first tests have no branches, which
   * nobody could foretell.
   *
   * @param lineWord which word of a key its line comes from
   * @param count how many keys are asked about
   * @returns their places, ascending
   */
  candidates(filter: Uint32Array, lineWord: number, keys: Uint32Array, count: number): number[] {
    const places: number[] = []
    for (let start = 0; start < count; start += STRETCH) {
      const length = Math.min(STRETCH, count - start)
      const first = start * KEY_WORDS
      this.#fetchLines(filter, keys, first + lineWord, length)
      const candidates = this.#findCandidates(filter, keys, first, length)
      for (let place = 0; place < candidates; place++) {
        const at = this.#candidates[place] ?? 0
        const keyAt = first + at * KEY_WORDS
        const line = this.#lines[at] ?? 0
        const isKnown = hasLineBits(filter, line, keys[keyAt + 1] ?? 0, keys[keyAt + 2] ?? 0)
        if (isKnown) places.push(start + at)
      }
    }
    return places
  }

  #fetchLines(filter: Uint32Array, keys: Uint32Array, first: number, count: number): void {
    const lines = this.#lines
    for (let at = 0; at < count; at++) lines[at] = lineOf(filter, keys[first + at * KEY_WORDS] ?? 0)
    let fetched = 0
    for (let at = 0; at < count; at++) fetched |= filter[lines[at] ?? 0] ?? 0
    this.fetched |= fetched
  }

  /** @returns how many keys have three of the bits */
  #findCandidates(filter: Uint32Array, keys: Uint32Array, first: number, count: number): number {
    const lines = this.#lines
    const candidates = this.#candidates
    let found = 0
    for (let at = 0; at < count; at++) {
      const line = lines[at] ?? 0
      const w1 = keys[first + at * KEY_WORDS + 1] ?? 0
      const w2 = keys[first + at * KEY_WORDS + 2] ?? 0
      const bits = bitAt(filter, line, w1) & bitAt(filter, line, w2) & bitAt(filter, line, w1 >>> 9)
      candidates[found] = at
      found += bits & 1
    }
    return found
  }
}

/** Which of so many lines a key is in: the word that says it, scaled. */
export function lineNoOf(lines: number, word: number): number {
  return Math.floor((word / 0x1_0000_0000) * lines)
}

function lineOf(filter: Uint32Array, word: number): number {
  return lineNoOf(filter.length / LINE_WORDS, word) * LINE_WORDS
}

function setBit(filter: Uint32Array, line: number, bit: number): void {
  const at = line + (bit >>> 5)
  filter[at] = (filter[at] ?? 0) | (1 << (bit & 31))
}

function hasBit(filter: Uint32Array, line: number, bit: number): boolean {
  return ((filter[line + (bit >>> 5)] ?? 0) & (1 << (bit & 31))) !== 0
}

/** The bit that nine bits of a word name, as the lowest of a number. */
function bitAt(filter: Uint32Array, line: number, word: number): number {
  return (filter[line + ((word & 511) >>> 5)] ?? 0) >>> (word & 31)
}
