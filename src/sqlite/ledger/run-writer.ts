// Writing one run of the sealed ledger, block by block. A run is not in use before it is whole.

import type { Connection } from '../database.ts'
import { FilterParts } from './filter-parts.ts'
import { filterBytes, filterIn } from './key-filter.ts'
import type { LedgerRun, RunPlan } from './ledger-run.ts'
import { LineWriter } from './line-writer.ts'
import { blocksOfRun, EVENT_BYTES, firstWordOf, RUN_STRIDE } from './run-block.ts'
import {
  belowWordOfLine,
  filterWordFor,
  filterWordToWrite,
  lineOf,
  linesOf,
  wordsOf,
} from './run-filter.ts'

const INSERT_RUN = `
  INSERT INTO runs (state, level, events, blocks, filter_word)
  VALUES (0, ?, ?, ?, ?)`
const INSERT_BLOCK = 'INSERT INTO blocks (id, entries) VALUES (?, ?)'
// A version before may have begun it, with another kind of filter in mind.
const PUT_INTO_USE = `
  UPDATE runs SET state = 1, filter = ?, filter_word = ? WHERE run_no = ?`

/** Registers a run that is going to be written. */
export function planRun(db: Connection, level: number, events: number): RunPlan {
  const blocks = blocksOfRun(events)
  const filterWord = filterWordFor(events)
  const { lastInsertRowid } = db.prepare(INSERT_RUN).run(level, events, blocks, filterWord)
  return { runNo: Number(lastInsertRowid), events, blocks, filterWord }
}

export class RunWriter {
  /** Its filter is in memory that other threads see as well, long before the run is whole. */
  readonly run: LedgerRun
  readonly #lines = new LineWriter()
  readonly #linesOfRun: number
  /** Lines of the filter before it are written. */
  #nextLine: number
  /** Those before it are in the file as well. */
  #storedLine: number
  readonly #parts: FilterParts
  readonly #insertBlock
  readonly #putIntoUse

  /** Takes up what has been stored of its filter. */
  constructor(db: Connection, plan: RunPlan) {
    const filterWord = filterWordToWrite(plan)
    this.#linesOfRun = linesOf({ ...plan, filterWord })
    const memory = new SharedArrayBuffer(filterBytes(wordsOf(this.#linesOfRun)))
    this.run = { ...plan, filter: filterIn(memory), firstLine: 0, filterWord }
    this.#insertBlock = db.prepare<[number, Buffer]>(INSERT_BLOCK)
    this.#putIntoUse = db.prepare<[Buffer, number, number]>(PUT_INTO_USE)
    this.#parts = new FilterParts(db, plan)
    this.#storedLine = this.#parts.read(this.run.filter)
    this.#nextLine = this.#storedLine
  }

  /** Makes the run's filter know a key, of which these are the first three words. */
  know(w0: number, w1: number, w2: number): void {
    this.#lines.add(lineOf(this.#linesOfRun, w0), w1, w2)
  }

  /** Makes it know the keys of packed events, but for those that it knows already. */
  learn(entries: Buffer): void {
    for (let at = 0; at < entries.length; at += EVENT_BYTES) {
      const line = lineOf(this.#linesOfRun, entries.readUInt32LE(at))
      if (line < this.#nextLine) continue
      this.#lines.add(line, entries.readUInt32LE(at + 4), entries.readUInt32LE(at + 8))
    }
  }

  /** All keys of the blocks before that one are known: the filter has them from now on. */
  finishKeysBefore(block: number): void {
    const stopLine = lineOf(this.#linesOfRun, firstWordOf(block, this.run.blocks))
    if (stopLine === this.#nextLine) return
    this.#lines.close(this.run.filter, this.#nextLine, stopLine)
    this.#nextLine = stopLine
  }

  /** Keys with a lower first word are in the filter. */
  get knownBelowWord(): number {
    return belowWordOfLine(this.#nextLine, this.#linesOfRun)
  }

  /** Stores what is written of the filter: what a start would have to make of the blocks again. */
  storeFilter(): void {
    if (this.#nextLine === this.#storedLine) return
    this.#parts.add(this.run.filter, this.#storedLine, this.#nextLine)
    this.#storedLine = this.#nextLine
  }

  /** Writes a block with all its events, packed; ascending blocks fill their pages best. */
  write(blockNo: number, entries: Buffer): void {
    this.#insertBlock.run(this.run.runNo * RUN_STRIDE + blockNo, entries)
  }

  /** When all blocks are written and all keys known. */
  putIntoUse(): void {
    this.finishKeysBefore(this.run.blocks)
    const { runNo, filter, filterWord } = this.run
    const { buffer, byteOffset, byteLength } = filter
    this.#putIntoUse.run(Buffer.from(buffer, byteOffset, byteLength), filterWord, runNo)
    this.#parts.delete()
  }
}
