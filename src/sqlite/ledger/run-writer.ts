// Writing one run of the sealed ledger, block by block. A run is not in use before it is whole.

import type { Connection } from '../database.ts'
import type { CohortRun, LedgerRun, NumberedSegment, RunPlan } from './ledger-run.ts'
import { blocksOfRun, EVENT_BYTES, firstWordOf, RUN_STRIDE } from './run-block.ts'
import { FILTER_WORD } from './run-filter.ts'

const INSERT_RUN = `
  INSERT INTO runs (state, level, events, blocks, filter_word)
  VALUES (0, ?, ?, ?, ?)`
const INSERT_BLOCK = 'INSERT INTO blocks (id, entries) VALUES (?, ?)'
const PUT_INTO_USE = 'UPDATE runs SET state = 1 WHERE run_no = ?'

/** Registers a run that is going to be written. */
export function planRun(db: Connection, level: number, events: number): RunPlan {
  const blocks = blocksOfRun(events)
  const { lastInsertRowid } = db.prepare(INSERT_RUN).run(level, events, blocks, FILTER_WORD)
  return { runNo: Number(lastInsertRowid), events, blocks, filterWord: FILTER_WORD }
}

/** Makes a filter know the keys of a run: its own one, or that of its cohort. */
export interface RunFilterWriter {
  readonly run: LedgerRun | CohortRun
  /** Adds a key, which these are the words of. */
  know(w0: number, w1: number, w2: number, w3: number): void
  /** Whether keys with that first word are known already. */
  isFinished(w0: number): boolean
  /** All keys with a lower first word have been added: the filter has them from now on. */
  finishBelow(word: number): void
  /** Keys with a lower first word are in the filter. */
  readonly knownBelowWord: number
  /**
   * Stores what is written, which a start would have to make of the blocks again.
   *
   * @returns what was made again of the filter of a cohort
   */
  store(isWhole: boolean): NumberedSegment[]
}

export class RunWriter {
  readonly filter: RunFilterWriter
  readonly #insertBlock
  readonly #putIntoUse

  constructor(db: Connection, filter: RunFilterWriter) {
    this.filter = filter
    this.#insertBlock = db.prepare<[number, Buffer]>(INSERT_BLOCK)
    this.#putIntoUse = db.prepare<[number]>(PUT_INTO_USE)
  }

  get run(): LedgerRun | CohortRun {
    return this.filter.run
  }

  /** Makes the filter know the keys of packed events, but for those that it knows already. */
  learn(entries: Buffer): void {
    for (let at = 0; at < entries.length; at += EVENT_BYTES) {
      const w0 = entries.readUInt32LE(at)
      if (this.filter.isFinished(w0)) continue
      const w1 = entries.readUInt32LE(at + 4)
      const w2 = entries.readUInt32LE(at + 8)
      this.filter.know(w0, w1, w2, entries.readUInt32LE(at + 12))
    }
  }

  /** All keys of the blocks before that one are known to the filter. */
  finishKeysBefore(block: number): void {
    this.filter.finishBelow(firstWordOf(block, this.run.blocks))
  }

  /** Writes a block with all its events, packed; ascending blocks fill their pages best. */
  write(blockNo: number, entries: Buffer): void {
    this.#insertBlock.run(this.run.runNo * RUN_STRIDE + blockNo, entries)
  }

  /** Stores the filter as far as it is finished. @returns what of a cohort's was made again */
  storeFilter(): NumberedSegment[] {
    return this.filter.store(false)
  }

  /** When all blocks are written and all keys known. @returns as `storeFilter` */
  putIntoUse(): NumberedSegment[] {
    this.finishKeysBefore(this.run.blocks)
    this.#putIntoUse.run(this.run.runNo)
    return this.filter.store(true)
  }
}
