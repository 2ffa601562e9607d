// A blocked Bloom filter over event keys: one cache line of 512 bits a key, seven bits in it. It
// answers "certainly not in this run" without touching the disk. At 14 bits a key about one key in
// 400 that is not there passes.

const LINE_WORDS = 16
const BITS_PER_KEY = 14

/** Words of a filter for that many keys, whole cache lines. */
export function filterWords(keys: number): number {
  return Math.ceil((keys * BITS_PER_KEY) / 512) * LINE_WORDS
}

/** Adds the key at `offset` of `words`. */
export function addToFilter(filter: Uint32Array, words: Uint32Array, offset: number): void {
  const line = lineOf(filter, words[offset + 3] ?? 0)
  const w1 = words[offset + 1] ?? 0
  const w2 = words[offset + 2] ?? 0
  for (let bit = 0; bit < 3; bit++) {
    setBit(filter, line, (w1 >>> (bit * 9)) & 511)
    setBit(filter, line, (w2 >>> (bit * 9)) & 511)
  }
  setBit(filter, line, (w1 >>> 27) | (((w2 >>> 27) << 5) & 511))
}

/** Whether the key may have been added: never false for one that was. */
export function mayContain(filter: Uint32Array, words: Uint32Array, offset: number): boolean {
  const line = lineOf(filter, words[offset + 3] ?? 0)
  const w1 = words[offset + 1] ?? 0
  const w2 = words[offset + 2] ?? 0
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

// The key's last word scaled to the number of lines.
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
