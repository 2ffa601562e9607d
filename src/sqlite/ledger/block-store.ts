// The blocks of runs in ledger.db. They are read a segment at a time: reading block by block takes
// several times as long and leaves a hundred thousand small buffers to the garbage collector.

import { checksumOf, DamagedData } from '../damaged-data.ts'
import { LEDGER_FILE } from '../database.ts'
import type { Connection } from '../database.ts'
import type { ArrangedEvents } from './block-shuffle.ts'
import type { Run } from './ledger-run.ts'
import { EVENT_BYTES, firstBlockIdOf } from './run-block.ts'

// group_concat leaves bytes as they are.
const BLOCKS = `
  SELECT CAST(group_concat(entries, '') AS BLOB) AS entries,
    json_group_array(length(entries)) AS lengths, json_group_array(checksum) AS checksums
  FROM blocks WHERE id >= ? AND id < ?`
const INSERT_BLOCK = 'INSERT INTO blocks (id, checksum, entries) VALUES (?, ?, ?)'
const DELETE_BLOCKS = 'DELETE FROM blocks WHERE id >= ? AND id < ?'

/** Blocks one after the other, with what is needed to check each. */
export interface BlockRows {
  readonly entries: Buffer | null
  /** JSON: bytes of each; `null` where there is none. */
  readonly lengths: string
  /** JSON. */
  readonly checksums: string
}

export class BlockStore {
  readonly #blocks
  readonly #insert
  readonly #delete

  constructor(db: Connection) {
    this.#blocks = db.prepare<[number, number], BlockRows>(BLOCKS)
    this.#insert = db.prepare<[number, number, Buffer]>(INSERT_BLOCK)
    this.#delete = db.prepare<[number, number]>(DELETE_BLOCKS)
  }

  /**
   * The packed events of a run's segment.
   *
   * @throws DamagedData when a block is missing or not what was written
   */
  read(run: Run, segment: number): Buffer {
    const [first, end] = [firstBlockIdOf(run, segment), firstBlockIdOf(run, segment + 1)]
    const rows = this.#blocks.get(first, end)
    if (rows?.entries === undefined || rows.entries === null) throw damagedBlock(first)
    const count = checkBlocks(rows.entries, rows, (at) => first + at)
    if (count !== end - first) throw damagedBlock(first)
    return rows.entries
  }

  /** Writes blocks, of which the first is the first of a segment. */
  write(run: Run, firstSegment: number, { entries, ends }: ArrangedEvents): void {
    const firstId = firstBlockIdOf(run, firstSegment)
    let start = 0
    for (let block = 0; block < ends.length; block++) {
      const end = (ends[block] ?? 0) * EVENT_BYTES
      const ofBlock = entries.subarray(start, end)
      this.#insert.run(firstId + block, checksumOf(firstId + block, ofBlock), ofBlock)
      start = end
    }
  }

  /** Deletes the segments [from, to) of a run. */
  delete(run: Run, from: number, to: number): void {
    this.#delete.run(firstBlockIdOf(run, from), firstBlockIdOf(run, to))
  }
}

/**
 * Checks blocks that were read together.
 *
 * @param idAt the id of the block at a place
 * @param onBlock is told where each begins and ends
 * @returns how many there are
 * @throws DamagedData when one of them is not what was written
 */
export function checkBlocks(
  entries: Buffer,
  { lengths, checksums }: BlockRows,
  idAt: (place: number) => number,
  onBlock?: (place: number, start: number, end: number) => void,
): number {
  const bytes = JSON.parse(lengths) as (number | null)[]
  const expected = JSON.parse(checksums) as (number | null)[]
  let start = 0
  for (let place = 0; place < bytes.length; place++) {
    const end = start + (bytes[place] ?? 0)
    const checksum = checksumOf(idAt(place), entries.subarray(start, end))
    if (checksum !== expected[place]) throw damagedBlock(idAt(place))
    onBlock?.(place, start, end)
    start = end
  }
  return bytes.length
}

export function damagedBlock(id: number): DamagedData {
  return new DamagedData(`block ${id} in ${LEDGER_FILE} is damaged`)
}
