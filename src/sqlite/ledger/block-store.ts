// The blocks of runs in ledger.db. They are read a segment at a time: block by block takes several
// times as long and leaves a hundred thousand small buffers to the garbage collector.

import { assert } from '../../domain/errors.ts'
import { DamagedData, LEDGER_FILE, orDamaged } from '../database.ts'
import type { Connection } from '../database.ts'
import type { ArrangedEvents } from './block-shuffle.ts'
import { BLOCK_EVENTS_MAX, EVENT_BYTES, firstBlockIdOf } from './ledger-run.ts'
import type { Run } from './ledger-run.ts'

// group_concat leaves bytes as they are.
const BLOCKS = `
  SELECT CAST(group_concat(entries, '') AS BLOB) AS entries, count(*) AS count
  FROM blocks WHERE id >= ? AND id < ?`
const BLOCK = 'SELECT entries FROM blocks WHERE id = ?'
const INSERT_BLOCK = 'INSERT INTO blocks (id, entries) VALUES (?, ?)'
const DELETE_BLOCKS = 'DELETE FROM blocks WHERE id >= ? AND id < ?'

interface BlockRows {
  /** The blocks one after the other; `null` if there are none. */
  readonly entries: Buffer | null
  readonly count: number
}

export class BlockStore {
  readonly #blocks
  readonly #block
  readonly #insert
  readonly #delete

  constructor(db: Connection) {
    this.#blocks = db.prepare<[number, number], BlockRows>(BLOCKS)
    this.#block = db.prepare<[number], Buffer>(BLOCK).pluck()
    this.#insert = db.prepare<[number, Buffer]>(INSERT_BLOCK)
    this.#delete = db.prepare<[number, number]>(DELETE_BLOCKS)
  }

  /**
   * The packed events of a run's segment.
   *
   * @throws DamagedData when a block is missing or damaged
   */
  read(run: Run, segment: number): Buffer {
    const [first, end] = [firstBlockIdOf(run, segment), firstBlockIdOf(run, segment + 1)]
    const problem = `a block from ${first} to ${end - 1} in ${LEDGER_FILE} is damaged`
    const rows = orDamaged(problem, () => this.#blocks.get(first, end))
    if (rows?.count !== end - first) throw new DamagedData(problem)
    return rows.entries ?? Buffer.alloc(0)
  }

  /**
   * The packed events of a block.
   *
   * @throws DamagedData when it is missing or damaged
   */
  readOne(id: number): Buffer {
    const problem = `block ${id} in ${LEDGER_FILE} is damaged`
    const entries = orDamaged(problem, () => this.#block.get(id))
    if (entries === undefined) throw new DamagedData(problem)
    return entries
  }

  /** Writes blocks, starting with the first of a segment. */
  write(run: Run, firstSegment: number, { entries, ends }: ArrangedEvents): void {
    const firstId = firstBlockIdOf(run, firstSegment)
    let start = 0
    for (let block = 0; block < ends.length; block++) {
      const end = (ends[block] ?? 0) * EVENT_BYTES
      assert(end - start <= BLOCK_EVENTS_MAX * EVENT_BYTES, 'a block of more events than can be')
      this.#insert.run(firstId + block, entries.subarray(start, end))
      start = end
    }
  }

  /** Deletes the segments [from, to) of a run. */
  delete(run: Run, from: number, to: number): void {
    this.#delete.run(firstBlockIdOf(run, from), firstBlockIdOf(run, to))
  }
}
