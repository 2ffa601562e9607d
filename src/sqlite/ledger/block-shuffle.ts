// Packed events of a stretch of keys, brought into the blocks of the run that they go to: counted,
// then put where they belong. Nothing is compared and nothing sorted. Of the time that sealing and
// merging take most goes here.

import { blockOf, EVENT_BYTES } from './run-block.ts'
import type { RunWriter } from './run-writer.ts'

// Events start at even places, so that two bytes can be moved at a time.
const EVENT_UNITS = EVENT_BYTES / 2

/** Blocks whose keys are put into the filter at once: the processor's cache holds them. */
const BLOCKS_KNOWN_TOGETHER = 256

export class BlockShuffle {
  #gathered = new Uint16Array(0)
  #shuffled = new Uint16Array(0)
  #blockOfEvent = new Int32Array(0)
  #count = 0

  clear(): void {
    this.#count = 0
  }

  /** How many were gathered. */
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
   * Writes the blocks [from, to) with the events that were gathered for them.
   *
   * @returns those events in the order of their blocks; good until the next call
   */
  write(writer: RunWriter, from: number, to: number): Buffer {
    const stops = this.#shuffle(writer.run.blocks, from, to)
    let start = 0
    for (let block = from; block < to; block++) {
      const stop = stops[block - from] ?? 0
      if (stop > start) {
        this.#tellKeys(writer, start, stop)
        writer.write(block, this.#bytes(start, stop))
      }
      if ((block + 1) % BLOCKS_KNOWN_TOGETHER === 0) writer.finishKeysBefore(block + 1)
      start = stop
    }
    writer.finishKeysBefore(to)
    return this.#bytes(0, start)
  }

  #bytes(start: number, stop: number): Buffer {
    const { buffer } = this.#shuffled
    return Buffer.from(buffer, start * EVENT_BYTES, (stop - start) * EVENT_BYTES)
  }

  /** @returns for each block where its events end */
  #shuffle(blocks: number, from: number, to: number): Int32Array {
    const gathered = this.#gathered
    const shuffled = this.#shuffled
    const next = new Int32Array(to - from)
    for (let event = 0; event < this.#count; event++) {
      const block = blockOf(wordAt(gathered, event * EVENT_UNITS), blocks) - from
      const isWanted = block >= 0 && block < to - from
      this.#blockOfEvent[event] = isWanted ? block : -1
      if (isWanted) next[block] = (next[block] ?? 0) + 1
    }
    let sum = 0
    for (let block = 0; block < next.length; block++) {
      const count = next[block] ?? 0
      next[block] = sum
      sum += count
    }
    for (let event = 0; event < this.#count; event++) {
      const block = this.#blockOfEvent[event] ?? -1
      if (block < 0) continue
      const place = next[block] ?? 0
      next[block] = place + 1
      let source = event * EVENT_UNITS
      let target = place * EVENT_UNITS
      const stop = source + EVENT_UNITS
      while (source < stop) shuffled[target++] = gathered[source++] ?? 0
    }
    return next
  }

  #tellKeys(writer: RunWriter, start: number, stop: number): void {
    const shuffled = this.#shuffled
    for (let event = start; event < stop; event++) {
      const at = event * EVENT_UNITS
      const w1 = wordAt(shuffled, at + 2)
      const w2 = wordAt(shuffled, at + 4)
      writer.filter.know(wordAt(shuffled, at), w1, w2, wordAt(shuffled, at + 6))
    }
  }

  #reserve(events: number): void {
    if (events <= this.#blockOfEvent.length) return
    const capacity = Math.max(events, this.#blockOfEvent.length * 2)
    const grown = new Uint16Array(capacity * EVENT_UNITS)
    grown.set(this.#gathered)
    this.#gathered = grown
    this.#shuffled = new Uint16Array(capacity * EVENT_UNITS)
    this.#blockOfEvent = new Int32Array(capacity)
  }
}

function wordAt(units: Uint16Array, at: number): number {
  return ((units[at] ?? 0) | ((units[at + 1] ?? 0) << 16)) >>> 0
}
