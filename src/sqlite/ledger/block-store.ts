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
const BLOCK = 'SELECT checksum, entries FROM blocks WHERE id = ?'
const INSERT_BLOCK = 'INSERT INTO blocks (id, checksum, entries) VALUES (?, ?, ?)'
const DELETE_BLOCKS = 'DELETE FROM blocks WHERE id >= ? AND id < ?'

/** Blocks one after the other, with what is needed to check each. */
interface BlockRows {
  /** `null` where there are none. */
  readonly entries: Buffer | null
  /** JSON: bytes of each. */
  readonly lengths: string
  /** JSON. */
  readonly checksums: string
}

type WholeRows = BlockRows & { readonly entries: Buffer }

export class BlockStore {
  readonly #blocks
  readonly #block
  readonly #insert
  readonly #delete

  constructor(db: Connection) {
    this.#blocks = db.prepare<[number, number], BlockRows>(BLOCKS)
    this.#block = db.prepare<[number], { checksum: number; entries: Buffer }>(BLOCK)
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
    const { entries } = rows
    if (checkBlocks(first, { ...rows, entries }) !== end - first) throw damagedBlock(first)
    return entries
  }

  /** The same; `undefined` when a block is missing or not what was written. */
  readIfWhole(run: Run, segment: number): Buffer | undefined {
    try {
      return this.read(run, segment)
    } catch (error) {
      if (error instanceof DamagedData) return undefined
      throw error
    }
  }

  /**
   * The packed events of a block.
   *
   * @throws DamagedData when it is missing or not what was written
   */
  readOne(id: number): Buffer {
    const row = this.#block.get(id)
    if (row === undefined || checksumOf(id, row.entries) !== row.checksum) throw damagedBlock(id)
    return row.entries
  }

  /**
   * Checks a block that was read. One that is gone was whole: what is merged is checked.
   *
   * @throws DamagedData
   */
  check(id: number): void {
    const row = this.#block.get(id)
    if (row !== undefined && checksumOf(id, row.entries) !== row.checksum) throw damagedBlock(id)
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

/** @returns how many blocks there are @throws DamagedData when one is not what was written */
function checkBlocks(firstId: number, { entries, lengths, checksums }: WholeRows): number {
  const bytes = JSON.parse(lengths) as number[]
  const expected = JSON.parse(checksums) as number[]
  let start = 0
  bytes.forEach((length, at) => {
    const block = entries.subarray(start, start + length)
    if (checksumOf(firstId + at, block) !== expected[at]) throw damagedBlock(firstId + at)
    start += length
  })
  return bytes.length
}

function damagedBlock(id: number): DamagedData {
  return new DamagedData(`block ${id} in ${LEDGER_FILE} is damaged`)
}
