// Counts how often a line has occurred before in a file, in 12 to 24 bytes per distinct line: an
// open hash table with 64 bits of each line's hash. Among ten million lines, two share them with a
// probability of one in 300,000; then one of them is numbered 1 instead of 0, the same in every
// import of that file.

const FIRST_SLOTS = 1 << 16
const LOAD_MAX = 0.75

interface Table {
  /** Power of two. */
  readonly slots: number
  /** Two words per slot. */
  readonly keys: Uint32Array
  /** How often the line occurred; 0: the slot is free. */
  readonly counts: Uint32Array
}

export class EqualLines {
  #table = createTable(FIRST_SLOTS)
  #used = 0

  /**
   * @param digest a hash of the line, at least 8 bytes
   * @returns how many lines with that hash came before; counts this one
   */
  countBefore(digest: Buffer): number {
    const high = digest.readUInt32LE(0)
    const low = digest.readUInt32LE(4)
    const slot = findSlot(this.#table, high, low)
    const before = this.#table.counts[slot] ?? 0
    this.#table.keys[2 * slot] = high
    this.#table.keys[2 * slot + 1] = low
    this.#table.counts[slot] = before + 1
    if (before === 0 && ++this.#used > this.#table.slots * LOAD_MAX) this.#grow()
    return before
  }

  #grow(): void {
    const { keys, counts, slots } = this.#table
    const larger = createTable(slots * 2)
    for (let from = 0; from < slots; from++) {
      const count = counts[from] ?? 0
      if (count === 0) continue
      const high = keys[2 * from] ?? 0
      const low = keys[2 * from + 1] ?? 0
      const to = findSlot(larger, high, low)
      larger.keys[2 * to] = high
      larger.keys[2 * to + 1] = low
      larger.counts[to] = count
    }
    this.#table = larger
  }
}

function createTable(slots: number): Table {
  return { slots, keys: new Uint32Array(2 * slots), counts: new Uint32Array(slots) }
}

/** The slot of a key, or the free slot where it belongs. */
function findSlot({ slots, keys, counts }: Table, high: number, low: number): number {
  const mask = slots - 1
  let slot = high & mask
  while (counts[slot] !== 0 && (keys[2 * slot] !== high || keys[2 * slot + 1] !== low)) {
    slot = (slot + 1) & mask
  }
  return slot
}
