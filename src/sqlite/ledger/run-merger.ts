// Keeping the number of runs small: when a level has `runsPerLevel` runs they become one run of
// the next level. A merge goes on in steps, so that sealing never waits for it long; each step is a
// transaction. The new run is put into use, and the old ones out of it, in the last one: a crash
// before that leaves an unfinished run, which is cleared away at the next start.

import type { Connection } from '../database.ts'
import { EVENT_BYTES, RUN_STRIDE } from './run-block.ts'
import { RunWriter } from './run-writer.ts'
import type { LedgerRun } from './sealed-ledger.ts'

/** Runs of one level before they are merged. */
const RUNS_PER_LEVEL = 8

/** Events merged in one transaction: about a tenth of a second. */
const EVENTS_PER_STEP = 100_000

/** Blocks deleted in one transaction. */
const BLOCKS_PER_STEP = 20_000

const FULL_LEVEL = `
  SELECT level FROM runs WHERE state = 1 GROUP BY level HAVING count(*) >= ${RUNS_PER_LEVEL}
  ORDER BY level LIMIT 1`
const OLDEST_RUNS = `
  SELECT run_no AS runNo, events FROM runs WHERE state = 1 AND level = ?
  ORDER BY run_no LIMIT ${RUNS_PER_LEVEL}`
const NEXT_BLOCKS = `
  SELECT id, entries FROM blocks WHERE id > ? AND id < ? ORDER BY id LIMIT 64`
const PUT_INTO_USE = 'UPDATE runs SET state = 1, filter = ? WHERE run_no = ?'
const PUT_OUT_OF_USE = 'UPDATE runs SET state = 2, filter = NULL WHERE run_no = ?'
const UNUSED_RUNS = 'SELECT run_no FROM runs WHERE state <> 1'
const DELETE_BLOCKS = `
  DELETE FROM blocks WHERE id IN
    (SELECT id FROM blocks WHERE id >= ? AND id < ? ORDER BY id LIMIT ${BLOCKS_PER_STEP})`
const DELETE_RUN = 'DELETE FROM runs WHERE run_no = ?'

/** A finished merge. */
export interface Merge {
  readonly run: LedgerRun
  readonly replacedRunNos: readonly number[]
}

export class RunMerger {
  readonly #db: Connection

  constructor(db: Connection) {
    this.#db = db
  }

  /** Merges the lowest full level in steps; yields after each, and the merge at last. */
  *merge(): Generator<undefined, Merge | undefined> {
    const level = this.#db.prepare<[], number>(FULL_LEVEL).pluck().get()
    if (level === undefined) return undefined
    const sources = this.#db.prepare<[number], { runNo: number; events: number }>(OLDEST_RUNS)
    const runs = sources.all(level)
    const events = runs.reduce((sum, run) => sum + run.events, 0)
    const readers = runs.map((run) => new RunReader(this.#db, run.runNo))
    const writer = this.#inTransaction(() => new RunWriter(this.#db, level + 1, events))
    while (this.#inTransaction(() => mergeStep(readers, writer))) yield undefined
    const replacedRunNos = runs.map((run) => run.runNo)
    this.#inTransaction(() => {
      writer.finish()
      this.#db.prepare(PUT_INTO_USE).run(Buffer.from(writer.filter.buffer), writer.runNo)
      for (const runNo of replacedRunNos) this.#db.prepare(PUT_OUT_OF_USE).run(runNo)
    })
    const { runNo, blocks, filter } = writer
    return { run: { runNo, events, blocks, filter }, replacedRunNos }
  }

  /** Deletes runs that are not in use, in steps; nobody may be reading them. */
  *clear(): Generator<undefined> {
    for (const runNo of this.#db.prepare<[], number>(UNUSED_RUNS).pluck().all()) {
      const start = runNo * RUN_STRIDE
      const deleteBlocks = this.#db.prepare<[number, number]>(DELETE_BLOCKS)
      while (deleteBlocks.run(start, start + RUN_STRIDE).changes === BLOCKS_PER_STEP) {
        yield undefined
      }
      this.#db.prepare(DELETE_RUN).run(runNo)
    }
  }

  #inTransaction<Result>(work: () => Result): Result {
    return this.#db.transaction(work).immediate()
  }
}

function mergeStep(readers: readonly RunReader[], writer: RunWriter): boolean {
  for (let merged = 0; merged < EVENTS_PER_STEP; merged++) {
    let first: RunReader | undefined
    for (const reader of readers) {
      if (reader.isAtEnd) continue
      if (first === undefined || reader.firstWord < first.firstWord) first = reader
    }
    if (first === undefined) return false
    writer.addPacked(first.block, first.at)
    first.advance()
  }
  return true
}

/** Walks a run's events in key order, reading some blocks ahead. */
class RunReader {
  readonly #nextBlocks
  readonly #stopId: number
  #lastId: number
  #ahead: { id: number; entries: Buffer }[] = []
  block: Buffer = Buffer.alloc(0)
  at = 0
  isAtEnd = false
  /** First key word of the event at hand. */
  firstWord = 0

  constructor(db: Connection, runNo: number) {
    this.#nextBlocks = db.prepare<[number, number], { id: number; entries: Buffer }>(NEXT_BLOCKS)
    this.#lastId = runNo * RUN_STRIDE - 1
    this.#stopId = (runNo + 1) * RUN_STRIDE
    this.advance()
  }

  advance(): void {
    this.at += EVENT_BYTES
    if (this.at >= this.block.length && !this.#nextBlock()) {
      this.isAtEnd = true
      return
    }
    this.firstWord = this.block.readUInt32LE(this.at)
  }

  #nextBlock(): boolean {
    if (this.#ahead.length === 0) {
      this.#ahead = this.#nextBlocks.all(this.#lastId, this.#stopId).toReversed()
    }
    const next = this.#ahead.pop()
    if (next === undefined) return false
    this.#lastId = next.id
    this.block = next.entries
    this.at = 0
    return true
  }
}
