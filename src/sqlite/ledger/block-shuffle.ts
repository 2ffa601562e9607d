// Puts packed events into the order of their blocks by a counting sort, without comparisons.
// Sealing and merging spend most of their time here.

import { toStarts } from './counting-sort.ts'
import { blockIdOf, EVENT_BYTES, firstBlockIdOf } from './ledger-run.ts'
import type { Run } from './ledger-run.ts'

// Events start at even offsets, so two bytes are moved at a time.
const EVENT_UNITS = EVENT_BYTES / 2

/** Events block by block. */
export interface ArrangedEvents {
  readonly entries: Buffer
  /** For each block, the number of events up to its end. */
  readonly ends: Int32Array
}

export class BlockShuffle {
  #gathered = new Uint16Array(0)
  #arranged = new Uint16Array(0)
  #blockOfEvent = new Int32Array(0)
  #count = 0

  clear(): void {
    this.#count = 0
  }

  /** The number of gathered events. */
  get events(): number {
    return this.#count
  }

  /** @param entries whole packed events */
  gather(entries: Buffer): void {
    const count = this.#count + entries.length / EVENT_BYTES
    this.#reserve(count)
    new Uint8Array(this.#gathered.buffer).set(entries, this.#count * EVENT_BYTES)
    this.#count = count
  }

  /**
   * Arranges the gathered events by block, for the segments [from, to) of a run.
   * Valid until the next call.
   */
  arrange(run: Run, from: number, to: number): ArrangedEvents {
    const firstId = firstBlockIdOf(run, from)
    const next = new Int32Array(firstBlockIdOf(run, to) - firstId)
    const gathered = this.#gathered
    for (let event = 0; event < this.#count; event++) {
      const block = blockIdOf(run, wordAt(gathered, event * EVENT_UNITS)) - firstId
      this.#blockOfEvent[event] = block
      next[block] = (next[block] ?? 0) + 1
    }
    toStarts(next, next.length)
    const arranged = this.#arranged
    for (let event = 0; event < this.#count; event++) {
      const block = this.#blockOfEvent[event] ?? 0
      const place = next[block] ?? 0
      next[block] = place + 1
      let source = event * EVENT_UNITS
      let target = place * EVENT_UNITS
      const stop = source + EVENT_UNITS
      while (source < stop) arranged[target++] = gathered[source++] ?? 0
    }
    const entries = Buffer.from(arranged.buffer, 0, this.#count * EVENT_BYTES)
    return { entries, ends: next }
  }

  #reserve(events: number): void {
    if (events <= this.#blockOfEvent.length) return
    const capacity = Math.max(events, this.#blockOfEvent.length * 2)
    const grown = new Uint16Array(capacity * EVENT_UNITS)
    grown.set(this.#gathered)
    this.#gathered = grown
    this.#arranged = new Uint16Array(capacity * EVENT_UNITS)
    this.#blockOfEvent = new Int32Array(capacity)
  }
}

function wordAt(units: Uint16Array, at: number): number {
  return ((units[at] ?? 0) | ((units[at + 1] ?? 0) << 16)) >>> 0
}
