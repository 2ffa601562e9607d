// Packed events of a stretch of keys, brought into the blocks of the run that they go to: counted,
// then put where they belong. Nothing is compared and nothing sorted; this is where the time of a
// merge goes.

import { blockOf, EVENT_BYTES } from './run-block.ts'
import type { RunWriter } from './run-writer.ts'

// Events start at even places, so that two bytes can be moved at a time.
const EVENT_UNITS = EVENT_BYTES / 2

export class BlockShuffle {
  #gathered = new Uint16Array(0)
  #shuffled = new Uint16Array(0)
  #blockOfEvent = new Int32Array(0)
  #events = 0

  clear(): void {
    this.#events = 0
  }

  /** @param entries whole packed events */
  gather(entries: Buffer): void {
    const events = this.#events + entries.length / EVENT_BYTES
    this.#reserve(events)
    new Uint8Array(this.#gathered.buffer).set(entries, this.#events * EVENT_BYTES)
    this.#events = events
  }

  /** Writes the blocks [from, to) with the events that were gathered for them. */
  write(writer: RunWriter, from: number, to: number): void {
    const stops = this.#shuffle(writer.run.blocks, from, to)
    this.#tellKeys(writer, stops[to - from - 1] ?? 0)
    let start = 0
    for (let block = from; block < to; block++) {
      const stop = stops[block - from] ?? 0
      const bytes = (stop - start) * EVENT_BYTES
      if (bytes > 0) {
        writer.write(block, Buffer.from(this.#shuffled.buffer, start * EVENT_BYTES, bytes))
      }
      start = stop
    }
  }

  /** @returns for each block where its events end */
  #shuffle(blocks: number, from: number, to: number): Int32Array {
    const gathered = this.#gathered
    const shuffled = this.#shuffled
    const next = new Int32Array(to - from)
    for (let event = 0; event < this.#events; event++) {
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
    for (let event = 0; event < this.#events; event++) {
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

  #tellKeys(writer: RunWriter, events: number): void {
    for (let event = 0; event < events; event++) {
      const at = event * EVENT_UNITS
      const shuffled = this.#shuffled
      writer.know(wordAt(shuffled, at), wordAt(shuffled, at + 2), wordAt(shuffled, at + 4))
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
