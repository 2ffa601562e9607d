// The blocks of runs in ledger.db. They are read a segment at a time: reading block by block takes
// several times as long and leaves a hundred thousand small buffers to the garbage collector.

import type { Connection } from '../database.ts'
import type { ArrangedEvents } from './block-shuffle.ts'
import type { Run } from './ledger-run.ts'
import { EVENT_BYTES, firstBlockIdOf } from './run-block.ts'

// group_concat leaves bytes as they are.
const EVENTS_OF_BLOCKS = `
  SELECT ifnull(CAST(group_concat(entries, '') AS BLOB), zeroblob(0)) FROM blocks
  WHERE id >= ? AND id < ?`
const INSERT_BLOCK = 'INSERT INTO blocks (id, entries) VALUES (?, ?)'
const DELETE_BLOCKS = 'DELETE FROM blocks WHERE id >= ? AND id < ?'

export class BlockStore {
  readonly #events
  readonly #insert
  readonly #delete

  constructor(db: Connection) {
    this.#events = db.prepare<[number, number], Buffer>(EVENTS_OF_BLOCKS).pluck()
    this.#insert = db.prepare<[number, Buffer]>(INSERT_BLOCK)
    this.#delete = db.prepare<[number, number]>(DELETE_BLOCKS)
  }

  /** The packed events of a run's segment. */
  read(run: Run, segment: number): Buffer {
    const range = [firstBlockIdOf(run, segment), firstBlockIdOf(run, segment + 1)] as const
    return this.#events.get(...range) ?? Buffer.alloc(0)
  }

  /** Writes blocks, of which the first is the first of a segment. */
  write(run: Run, firstSegment: number, { entries, ends }: ArrangedEvents): void {
    const firstId = firstBlockIdOf(run, firstSegment)
    let start = 0
    for (let block = 0; block < ends.length; block++) {
      const end = (ends[block] ?? 0) * EVENT_BYTES
      if (end > start) this.#insert.run(firstId + block, entries.subarray(start, end))
      start = end
    }
  }

  /** Deletes the segments [from, to) of a run. */
  delete(run: Run, from: number, to: number): void {
    this.#delete.run(firstBlockIdOf(run, from), firstBlockIdOf(run, to))
  }
}
