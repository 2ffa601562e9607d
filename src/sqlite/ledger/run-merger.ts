// Keeps the number of young runs small: when there are enough, they are merged into one run, which
// joins a cohort (cohort-segment.ts). Merged runs are never merged again: one look into their
// cohort's filter covers sixteen of them, so rewriting their events would save nothing.
//
// A merge advances in merge steps of a few segments, each one transaction: the events of these
// segments are written to the new run, whose filters then know them. Readers are told, and confirm
// when they look for these segments in the new run only; a later merge step deletes them from the
// old runs. So every event can be found at every moment, the new run reuses the pages of the old
// ones, and an interrupted merge continues where it was. One that meets a damaged page stays where
// it is until the next start; runs sealed later are merged without it.
//
// The pace of a merge depends on how much is sealed, several times as much, so that the load is
// even and few young runs are in memory.

import { giveBack } from '../../bytes/give-back.ts'
import { epochEvents } from '../../domain/limits.ts'
import { DamagedData, LEDGER_FILE, orDamaged } from '../database.ts'
import type { Connection } from '../database.ts'
import { BlockShuffle } from './block-shuffle.ts'
import { BlockStore } from './block-store.ts'
import { CohortStore } from './cohort-store.ts'
import { FineFilterWriter } from './fine-filter.ts'
import { blocksFor, SEGMENTS } from './ledger-run.ts'
import type { MergedRun, MergeProgress, NumberedSegment, Run, TakenSegments } from './ledger-run.ts'
import { RUNS_PER_GENERATION } from './run-generation.ts'

/** How much is merged at a time. */
export interface MergePlan {
  /** Number of young runs that become one. */
  readonly runs: number
  /** A merge step ends with the segment that reaches this number. */
  readonly eventsPerMergeStep: number
}

/** It takes some hundredths of a second; a shorter one would write more pages repeatedly. */
export const MERGE_PLAN: MergePlan = {
  runs: 2 * RUNS_PER_GENERATION,
  eventsPerMergeStep: epochEvents,
}

/** Events merged per event sealed. */
const MERGED_PER_SEALED = 4

/** If more than this many seals are owed to a merge, it goes before the next seal. */
const SEALS_DUE_MAX = 4

const COUNT_FREE = 'SELECT count(*) FROM runs WHERE merged_no IS NULL AND merged_into IS NULL'
const OLDEST_RUNS = `
  SELECT run_no AS runNo, events, blocks FROM runs
  WHERE merged_no IS NULL AND merged_into IS NULL ORDER BY run_no LIMIT ?`
const INSERT_TARGET = `
  INSERT INTO runs (events, blocks, merged_no, segments_written)
  SELECT ?, ?, count(merged_no), 0 FROM runs`
const SET_MERGED_INTO = 'UPDATE runs SET merged_into = ? WHERE run_no = ?'
const SOURCES = `
  SELECT run_no AS runNo, events, blocks FROM runs WHERE merged_into = ? ORDER BY run_no`
const SET_WRITTEN = 'UPDATE runs SET segments_written = ? WHERE run_no = ?'
const DELETE_SOURCES = 'DELETE FROM runs WHERE merged_into = ?'

interface Merge {
  readonly run: MergedRun
  readonly sources: readonly Run[]
  /** Segments below it are written. */
  stopSegment: number
  /** Readers no longer look for segments below it in the sources. */
  takenSegment: number
  /** Segments below it are deleted from the sources. */
  deletedSegment: number
  /** Events it still owes for what has been sealed. */
  due: number
}

export class RunMerger {
  readonly #db: Connection
  readonly #plan: MergePlan
  readonly #shuffle = new BlockShuffle()
  readonly #blocks: BlockStore
  readonly #cohorts: CohortStore
  readonly #fineFilters: FineFilterWriter
  #merge: Merge | undefined
  #dueMax = 0

  /** Continues the merge that a stop or a crash interrupted. */
  constructor(db: Connection, plan = MERGE_PLAN) {
    this.#db = db
    this.#plan = plan
    this.#blocks = new BlockStore(db)
    this.#cohorts = new CohortStore(db)
    this.#fineFilters = new FineFilterWriter(db)
    const merge = this.#readUnfinished()
    if (merge === undefined) return
    // Readers start with what is stored, so they never look for these segments in the sources.
    merge.takenSegment = merge.stopSegment
    this.#merge = merge
  }

  /** This many more events are sealed: a merge may begin or continue. */
  noteSealed(events: number): void {
    this.#merge ??= this.#begin()
    if (this.#merge === undefined) return
    this.#merge.due += events * MERGED_PER_SEALED
    this.#dueMax = events * MERGED_PER_SEALED * SEALS_DUE_MAX
  }

  /** Readers now look for what a merge has moved so far in the merged run alone. */
  noteTaken({ runNo, stopSegment }: TakenSegments): void {
    if (this.#merge?.run.runNo === runNo) this.#merge.takenSegment = stopSegment
  }

  /** Whether there would be too many runs if more were sealed before the next merge step. */
  get isBehind(): boolean {
    return !this.isIdle && (this.#merge?.due ?? 0) > this.#dueMax
  }

  /** Whether there is nothing to do until more is sealed, or confirmed by readers. */
  get isIdle(): boolean {
    if (this.#merge === undefined) return true
    const { stopSegment, takenSegment, due } = this.#merge
    return stopSegment === SEGMENTS ? takenSegment < SEGMENTS : due <= 0
  }

  /**
   * Takes one merge step; durable when it returns. If it throws, it has changed nothing; after one
   * that met damage, the merge rests until the next start.
   *
   * @throws DamagedData
   * @returns the progress if events were merged
   */
  takeMergeStep(): MergeProgress | undefined {
    const merge = this.#merge
    if (merge === undefined || this.isIdle) return undefined
    const { eventsPerMergeStep } = this.#plan
    let stop = merge.stopSegment
    let events = 0
    const move = this.#db.transaction(() => {
      this.#deleteTaken(merge)
      const written: NumberedSegment[] = []
      while (stop < SEGMENTS && events < eventsPerMergeStep) {
        written.push(this.#moveSegment(merge, stop++))
        events += this.#shuffle.events
      }
      this.#db.prepare<[number, number]>(SET_WRITTEN).run(stop, merge.run.runNo)
      return written
    })
    const segments = this.#untilDamaged(() => move.immediate())
    merge.deletedSegment = merge.takenSegment
    if (merge.deletedSegment === SEGMENTS) this.#merge = undefined
    if (segments.length === 0) return undefined
    merge.stopSegment = stop
    merge.due -= events
    const sourceNos = merge.sources.map(({ runNo }) => runNo)
    return { run: merge.run, segments, sourceNos, stopSegment: stop }
  }

  #untilDamaged<Result>(work: () => Result): Result {
    try {
      return orDamaged(`a run that is merged in ${LEDGER_FILE} is damaged`, work)
    } catch (error) {
      if (error instanceof DamagedData) this.#merge = undefined
      throw error
    }
  }

  #begin(): Merge | undefined {
    const { runs } = this.#plan
    const free = this.#db.prepare<[], number>(COUNT_FREE).pluck().get() ?? 0
    if (free < runs) return undefined
    const begin = this.#db.transaction(() => {
      const sources = this.#db.prepare<[number], Run>(OLDEST_RUNS).all(runs)
      const events = sources.reduce((sum, run) => sum + run.events, 0)
      const target = this.#db.prepare(INSERT_TARGET).run(events, blocksFor(events))
      const setMergedInto = this.#db.prepare(SET_MERGED_INTO)
      for (const { runNo } of sources) setMergedInto.run(target.lastInsertRowid, runNo)
    })
    begin.immediate()
    return this.#readUnfinished()
  }

  #readUnfinished(): Merge | undefined {
    const unfinished = this.#cohorts.unfinishedRun()
    if (unfinished === undefined) return undefined
    const { segmentsWritten: stopSegment, ...run } = unfinished
    const sources = this.#db.prepare<[number], Run>(SOURCES).all(run.runNo)
    return { run, sources, stopSegment, takenSegment: 0, deletedSegment: 0, due: 0 }
  }

  #moveSegment({ run, sources }: Merge, segmentNo: number): NumberedSegment {
    this.#shuffle.clear()
    for (const source of sources) {
      const events = this.#blocks.read(source, segmentNo)
      this.#shuffle.gather(events)
      giveBack(events)
    }
    const arranged = this.#shuffle.arrange(run, segmentNo, segmentNo + 1)
    this.#blocks.write(run, segmentNo, arranged)
    this.#fineFilters.write(run, segmentNo, arranged.entries)
    return this.#cohorts.addToSegment(run, segmentNo, arranged.entries)
  }

  #deleteTaken({ run, sources, takenSegment, deletedSegment }: Merge): void {
    if (takenSegment === deletedSegment) return
    for (const source of sources) this.#blocks.delete(source, deletedSegment, takenSegment)
    if (takenSegment === SEGMENTS) this.#db.prepare<[number]>(DELETE_SOURCES).run(run.runNo)
  }
}
