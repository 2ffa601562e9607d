// Reading the events of a run, a stretch of its blocks at a time. To read them block by block takes
// several times as long, and leaves them to the collector in a hundred thousand pieces.

import type { Connection } from '../database.ts'
import { RUN_STRIDE } from './run-block.ts'

/** Some thousand events, which the processor's cache holds. */
export const BLOCKS_PER_STRETCH = 256

// Bytes stay as they are.
const EVENTS_OF_BLOCKS = `
  SELECT ifnull(CAST(group_concat(entries, '') AS BLOB), zeroblob(0)) FROM blocks
  WHERE id >= ? AND id < ?`

export class BlockReader {
  readonly #events

  constructor(db: Connection) {
    this.#events = db.prepare<[number, number], Buffer>(EVENTS_OF_BLOCKS).pluck()
  }

  /** The packed events of the blocks [from, to) of a run; of those that are there. */
  read(runNo: number, from: number, to: number): Buffer {
    const first = runNo * RUN_STRIDE
    return this.#events.get(first + from, first + to) ?? Buffer.alloc(0)
  }
}
