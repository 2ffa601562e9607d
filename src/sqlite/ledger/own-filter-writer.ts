// Writing the filter that a run has of its own: into memory that other threads see as well, long
// before the run is whole, and into the file.

import type { Connection } from '../database.ts'
import { FilterParts } from './filter-parts.ts'
import { filterBytes, filterIn } from './key-filter.ts'
import type { LedgerRun, RunPlan } from './ledger-run.ts'
import { LineWriter } from './line-writer.ts'
import { belowWordOfLine, filterWordToWrite, lineOf, linesOf, wordsOf } from './run-filter.ts'
import type { RunFilterWriter } from './run-writer.ts'

// A version before may have begun it, with another kind of filter in mind.
const SET_FILTER = 'UPDATE runs SET filter = ?, filter_word = ? WHERE run_no = ?'

export class OwnFilterWriter implements RunFilterWriter {
  readonly run: LedgerRun
  readonly #lines = new LineWriter()
  readonly #linesOfRun: number
  /** Lines of the filter before it are written. */
  #nextLine: number
  /** Those before it are in the file as well. */
  #storedLine: number
  readonly #parts: FilterParts
  readonly #setFilter

  /** Takes up what has been stored of it. */
  constructor(db: Connection, plan: RunPlan) {
    const filterWord = filterWordToWrite(plan)
    this.#linesOfRun = linesOf({ ...plan, filterWord })
    const memory = new SharedArrayBuffer(filterBytes(wordsOf(this.#linesOfRun)))
    this.run = { ...plan, filter: filterIn(memory), firstLine: 0, filterWord }
    this.#setFilter = db.prepare<[Buffer, number, number]>(SET_FILTER)
    this.#parts = new FilterParts(db, plan)
    this.#storedLine = this.#parts.read(this.run.filter)
    this.#nextLine = this.#storedLine
  }

  know(w0: number, w1: number, w2: number): void {
    this.#lines.add(lineOf(this.#linesOfRun, w0), w1, w2)
  }

  isFinished(w0: number): boolean {
    return lineOf(this.#linesOfRun, w0) < this.#nextLine
  }

  finishBelow(word: number): void {
    const stopLine = lineOf(this.#linesOfRun, word)
    if (stopLine === this.#nextLine) return
    this.#lines.close(this.run.filter, this.#nextLine, stopLine)
    this.#nextLine = stopLine
  }

  get knownBelowWord(): number {
    return belowWordOfLine(this.#nextLine, this.#linesOfRun)
  }

  store(isWhole: boolean): [] {
    if (isWhole) this.#storeWhole()
    else if (this.#nextLine > this.#storedLine) {
      this.#parts.add(this.run.filter, this.#storedLine, this.#nextLine)
      this.#storedLine = this.#nextLine
    }
    return []
  }

  #storeWhole(): void {
    const { runNo, filter, filterWord } = this.run
    const { buffer, byteOffset, byteLength } = filter
    this.#setFilter.run(Buffer.from(buffer, byteOffset, byteLength), filterWord, runNo)
    this.#parts.delete()
  }
}
