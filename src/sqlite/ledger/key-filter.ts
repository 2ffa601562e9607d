// A blocked Bloom filter over event keys: one cache line of 512 bits a key, seven bits in it. It
// answers "certainly not in this run" without touching the disk. At 14 bits a key about one key in
// 400 that is not there passes.
//
// The line comes from one word of the key, the bits from its second and third. Where the line comes
// from the first, which runs are ordered by, a run sets the bits of its filter from front to back:
// all over a filter that no cache holds they cost more than the rest of a merge.

import { EVENT_BYTES } from './run-block.ts'

const LINE_WORDS = 16
const BITS_PER_KEY = 14

/** Words of a filter for that many keys, whole cache lines. */
export function filterWords(keys: number): number {
  return Math.ceil((keys * BITS_PER_KEY) / 512) * LINE_WORDS
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
  const line = lineOf(filter, lineWord)
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

// The word scaled to the number of lines.
function lineOf(filter: Uint32Array, word: number): number {
  const lines = filter.length / LINE_WORDS
  return Math.floor((word / 0x1_0000_0000) * lines) * LINE_WORDS
}

function setBit(filter: Uint32Array, line: number, bit: number): void {
  const at = line + (bit >>> 5)
  filter[at] = (filter[at] ?? 0) | (1 << (bit & 31))
}

function hasBit(filter: Uint32Array, line: number, bit: number): boolean {
  return ((filter[line + (bit >>> 5)] ?? 0) & (1 << (bit & 31))) !== 0
}
