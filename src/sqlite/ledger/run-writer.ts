// Writing one run of the sealed ledger, block by block. A run is not in use before it is whole.

import type { Connection } from '../database.ts'
import { addToFilter, filterBytes, filterIn, filterWords } from './key-filter.ts'
import type { LedgerRun, RunPlan } from './ledger-run.ts'
import { blocksOfRun, RUN_STRIDE } from './run-block.ts'

const INSERT_RUN = `
  INSERT INTO runs (state, level, events, blocks, filter_word) VALUES (0, ?, ?, ?, 0)`
const INSERT_BLOCK = 'INSERT INTO blocks (id, entries) VALUES (?, ?)'
const PUT_INTO_USE = 'UPDATE runs SET state = 1, filter = ? WHERE run_no = ?'

/** Registers a run that is going to be written. */
export function planRun(db: Connection, level: number, events: number): RunPlan {
  const blocks = blocksOfRun(events)
  const { lastInsertRowid } = db.prepare(INSERT_RUN).run(level, events, blocks)
  return { runNo: Number(lastInsertRowid), events, blocks }
}

export class RunWriter {
  readonly run: LedgerRun
  readonly #insertBlock
  readonly #putIntoUse

  /** @param bitsPerKey of its filter */
  constructor(db: Connection, plan: RunPlan, bitsPerKey?: number) {
    const memory = new ArrayBuffer(filterBytes(filterWords(plan.events, bitsPerKey)))
    this.run = { ...plan, filter: filterIn(memory), filterWord: 0 }
    this.#insertBlock = db.prepare<[number, Buffer]>(INSERT_BLOCK)
    this.#putIntoUse = db.prepare<[Buffer, number]>(PUT_INTO_USE)
  }

  /** Makes the run's filter know a key, of which these are the first three words. */
  know(w0: number, w1: number, w2: number): void {
    addToFilter(this.run.filter, w0, w1, w2)
  }

  /** Writes a block with all its events, packed; ascending blocks fill their pages best. */
  write(blockNo: number, entries: Buffer): void {
    this.#insertBlock.run(this.run.runNo * RUN_STRIDE + blockNo, entries)
  }

  /** When all blocks are written and all keys known. */
  putIntoUse(): void {
    const { buffer, byteOffset, byteLength } = this.run.filter
    this.#putIntoUse.run(Buffer.from(buffer, byteOffset, byteLength), this.run.runNo)
  }
}
