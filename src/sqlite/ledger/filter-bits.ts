// Numbers of up to 31 bits, packed into an array of words, as filters store them.

/** Reads on both sides of the end of a word where the number lies so. */
export function readBits(words: Uint32Array, at: number, bit: number, width: number): number {
  const word = at + (bit >>> 5)
  const shift = bit & 31
  const low = (words[word] ?? 0) >>> shift
  const high = ((words[word + 1] ?? 0) << 1) << (31 - shift)
  return (low | high) & ((1 << width) - 1)
}

/** The number of set bits in a word. */
export function bitsSet(word: number): number {
  const pairs = word - ((word >>> 1) & 0x5555_5555)
  const fours = (pairs & 0x3333_3333) + ((pairs >>> 2) & 0x3333_3333)
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24
}

/** Copies bytes, which may begin anywhere, as words. */
export function wordsIn(bytes: Buffer): Uint32Array {
  const words = new Uint32Array(Math.floor(bytes.length / 4))
  bytes.copy(Buffer.from(words.buffer))
  return words
}
