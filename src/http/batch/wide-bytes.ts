// Bytes compared and copied four at a time. For pieces of about ten bytes, a loop over single bytes
// or a call to a Buffer method takes two to three times as long.

export const WORD_BYTES = 4

export class WideBytes {
  readonly bytes: Buffer
  readonly length: number
  readonly #words: DataView

  constructor(bytes: Buffer) {
    this.bytes = bytes
    this.length = bytes.length
    this.#words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  /** The four bytes from `at` on, which must all exist, as one number. */
  wordAt(at: number): number {
    return this.#words.getInt32(at, true)
  }

  setWord(at: number, word: number): void {
    this.#words.setInt32(at, word, true)
  }

  /**
   * Whether that many bytes at `at` equal those of `other` at `otherAt`. Bytes beyond the end of
   * either equal nothing.
   */
  equals(at: number, other: WideBytes, otherAt: number, length: number): boolean {
    const isInside = at >= 0 && at + length <= this.length && otherAt + length <= other.length
    if (!isInside) return false
    const last = length - WORD_BYTES
    if (last < 0) return this.#equalsBytes(at, other, otherAt, length)
    for (let place = 0; place < last; place += WORD_BYTES) {
      if (this.wordAt(at + place) !== other.wordAt(otherAt + place)) return false
    }
    // The last word overlaps the previous one.
    return this.wordAt(at + last) === other.wordAt(otherAt + last)
  }

  /** Copies the bytes of `source` from `start` to `stop`; `at` must have room for them. */
  copy(at: number, source: WideBytes, start: number, stop: number): void {
    const last = stop - start - WORD_BYTES
    if (last < 0) {
      for (let place = start; place < stop; place++) {
        this.bytes[at + place - start] = source.bytes[place] ?? 0
      }
      return
    }
    for (let place = 0; place < last; place += WORD_BYTES) {
      this.setWord(at + place, source.wordAt(start + place))
    }
    this.setWord(at + last, source.wordAt(start + last))
  }

  #equalsBytes(at: number, other: WideBytes, otherAt: number, length: number): boolean {
    for (let place = 0; place < length; place++) {
      if (this.bytes[at + place] !== other.bytes[otherAt + place]) return false
    }
    return true
  }
}

/** An ASCII text as its bytes. */
export function asciiBytes(text: string): WideBytes {
  return new WideBytes(Buffer.from(text, 'latin1'))
}
