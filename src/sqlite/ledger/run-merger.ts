// Keeping the number of runs small: enough runs of a level become one run of the next. Of the first
// level these are many, for a look-up asks them together (run-generation.ts).
//
// A merge goes on in steps, each one transaction: the events of a stretch of keys are written to
// the new run, and are gone from the old ones. So an event is always in exactly one run, the pages
// of the old ones are free for the new one, and a crash between any two steps leaves a merge that
// goes on where it stood. Readers are told how far the new run goes: what lies below is asked of
// it, the rest of the old ones, whose filters are given back as they are used up. Who is told late,
// and misses a block of an old one, looks where that is being merged into.
//
// How far merges go on is bound to how much is sealed. Those of young runs go fast: such a run
// takes the most memory for an event. The others do little more than needed: they take their share
// of the time evenly, and are done before there are as many runs again. That many are merged at
// once is a compromise: each level of merges writes all events once more, each run is one more
// filter to ask.

import { giveBack } from '../../domain/give-back.ts'
import type { Connection } from '../database.ts'
import { BLOCKS_PER_STRETCH, BlockReader } from './block-reader.ts'
import { BlockShuffle } from './block-shuffle.ts'
import { CohortFilterWriter } from './cohort-filter-writer.ts'
import { SEGMENTS, segmentsBelow } from './cohort-segment.ts'
import { CohortStore } from './cohort-store.ts'
import { FilterParts } from './filter-parts.ts'
import type { MergeProgress, NumberedSegment, RunPlan } from './ledger-run.ts'
import { OwnFilterWriter } from './own-filter-writer.ts'
import { BLOCK_EVENTS_MEAN, blockOf, EVENT_BYTES, firstWordOf, RUN_STRIDE } from './run-block.ts'
import { RUNS_PER_GENERATION } from './run-generation.ts'
import { planRun, RunWriter } from './run-writer.ts'
import type { RunFilterWriter } from './run-writer.ts'

/** How much is merged at a time. */
export interface MergePlan {
  /** Runs of the first level that become one of the second. */
  readonly youngRuns: number
  /** Runs of any other level that become one of the next. */
  readonly oldRuns: number
  /** Blocks written in one step. */
  readonly blocksPerStep: number
}

/** Events that a merge may take for one that is sealed: one would just do, more is less even. */
const MERGED_PER_SEALED = { young: 4, old: 1.0625 }

/** A merge that owes more than for so many seals goes before the next. */
const SEALS_OWED_MAX = 4

/** A step takes some hundredths of a second; shorter ones write more pages more than once. */
export const MERGE_PLAN: MergePlan = {
  youngRuns: 2 * RUNS_PER_GENERATION,
  oldRuns: 16,
  blocksPerStep: 16 * BLOCKS_PER_STRETCH,
}

const PLAN = 'run_no AS runNo, events, blocks, filter_word AS filterWord'
const FREE = 'state = 1 AND run_no NOT IN (SELECT source_no FROM merges)'
// The higher ones first: a run that is merged at the first level joins a cohort that stays.
const FULL_LEVELS = `
  SELECT level FROM runs WHERE ${FREE} GROUP BY level
  HAVING count(*) >= iif(level = 0, ?, ?) ORDER BY level DESC`
const OLDEST_RUNS = `
  SELECT ${PLAN} FROM runs
  WHERE ${FREE} AND level = ? ORDER BY run_no LIMIT ?`
const UNFINISHED = `
  SELECT ${PLAN}, level - 1 AS level, next_block AS nextBlock
  FROM merge_progress JOIN runs ON run_no = target_no`
const SOURCES = `
  SELECT ${PLAN} FROM merges JOIN runs ON run_no = source_no
  WHERE target_no = ? ORDER BY run_no`
const INSERT_SOURCE = 'INSERT INTO merges (target_no, source_no) VALUES (?, ?)'
const INSERT_PROGRESS = 'INSERT INTO merge_progress (target_no, next_block) VALUES (?, 0)'
const DELETE_BLOCKS = 'DELETE FROM blocks WHERE id >= ? AND id < ?'
const SET_NEXT_BLOCK = 'UPDATE merge_progress SET next_block = ? WHERE target_no = ?'
const PUT_OUT_OF_USE = `
  UPDATE runs SET state = 2, filter = NULL
  WHERE run_no IN (SELECT source_no FROM merges WHERE target_no = ?)`
const DELETE_PROGRESS = 'DELETE FROM merge_progress WHERE target_no = ?'
// Others may still be reading as if they were there, but nobody does when this starts.
const FORGET_REPLACED = `
  DELETE FROM merges WHERE source_no IN (SELECT run_no FROM runs WHERE state = 2);
  DELETE FROM runs WHERE state = 2`

interface LevelMerge {
  readonly writer: RunWriter
  readonly sources: readonly RunPlan[]
  /** Blocks before it are written. */
  nextBlock: number
  /** Events that it may still merge for what has been sealed. */
  allowance: number
  /** What it may owe before the next seal. */
  allowanceMax: number
}

/** What a step has done. */
interface Moved {
  /** The new run is written up to this block. */
  readonly stop: number
  readonly segments: readonly NumberedSegment[]
}

export class RunMerger {
  readonly #db: Connection
  readonly #plan: MergePlan
  /** By the level of the runs that are merged. */
  readonly #merges = new Map<number, LevelMerge>()
  readonly #shuffle = new BlockShuffle()
  readonly #blocks: BlockReader
  readonly #deleteBlocks
  readonly #setNextBlock
  readonly #cohorts: CohortStore

  /** Takes up the merges that a stop or a crash has left. */
  constructor(db: Connection, plan = MERGE_PLAN) {
    this.#db = db
    this.#plan = plan
    this.#blocks = new BlockReader(db)
    this.#deleteBlocks = db.prepare<[number, number]>(DELETE_BLOCKS)
    this.#setNextBlock = db.prepare<[number, number]>(SET_NEXT_BLOCK)
    this.#cohorts = new CohortStore(db)
    db.transaction(() => db.exec(FORGET_REPLACED))()
    const unfinished = db.prepare<[], RunPlan & { level: number; nextBlock: number }>(UNFINISHED)
    for (const { level, nextBlock, ...target } of unfinished.all()) {
      const isOfBefore = level === 0 && this.#cohorts.placeOf(target.runNo) === undefined
      const merge = isOfBefore ? this.#adopt(target, nextBlock) : this.#mergeInto(target, nextBlock)
      this.#merges.set(level, merge)
    }
  }

  /** So many events more are sealed: merges may begin, and go on. */
  noteSealed(events: number): void {
    const { youngRuns, oldRuns } = this.#plan
    const fullLevels = this.#db.prepare<[number, number], number>(FULL_LEVELS).pluck()
    for (const level of fullLevels.all(youngRuns, oldRuns)) {
      if (!this.#merges.has(level)) this.#merges.set(level, this.#begin(level))
    }
    for (const [level, merge] of this.#merges) {
      const allowance = events * (level === 0 ? MERGED_PER_SEALED.young : MERGED_PER_SEALED.old)
      merge.allowance += allowance
      merge.allowanceMax = allowance * SEALS_OWED_MAX
    }
  }

  /** How far the merges are. */
  get progress(): readonly MergeProgress[] {
    return [...this.#merges.values()].map((merge) => progressOf(merge, []))
  }

  /** Whether runs would become too many if more were sealed before a step is taken. */
  get isBehind(): boolean {
    return [...this.#merges.values()].some((merge) => merge.allowance > merge.allowanceMax)
  }

  /** What a step commits, about. */
  get stepBytes(): number {
    return this.#plan.blocksPerStep * BLOCK_EVENTS_MEAN * EVENT_BYTES
  }

  /** Whether there is nothing to do before more is sealed. */
  get isIdle(): boolean {
    return this.#next() === undefined
  }

  /**
   * Takes one step; durable when it returns.
   *
   * @returns how far the merge is that it went on with
   */
  step(): MergeProgress | undefined {
    const next = this.#next()
    if (next === undefined) return undefined
    const [level, merge] = next
    const { run } = merge.writer
    let moved: Moved
    try {
      moved = this.#db.transaction(() => this.#move(merge)).immediate()
    } catch (cause) {
      // The file is as before the step, the filter is not: it is read again.
      const { nextBlock, allowance, allowanceMax } = merge
      this.#merges.set(level, { ...this.#mergeInto(run, nextBlock), allowance, allowanceMax })
      throw cause
    }
    merge.nextBlock = moved.stop
    merge.allowance -= this.#plan.blocksPerStep * (run.events / run.blocks)
    if (moved.stop === run.blocks) this.#merges.delete(level)
    return progressOf(merge, moved.segments)
  }

  #next(): [number, LevelMerge] | undefined {
    for (const [level, merge] of this.#merges) {
      if (merge.allowance > 0) return [level, merge]
    }
    return undefined
  }

  #begin(level: number): LevelMerge {
    const begin = this.#db.transaction(() => {
      const count = level === 0 ? this.#plan.youngRuns : this.#plan.oldRuns
      const sources = this.#db.prepare<[number, number], RunPlan>(OLDEST_RUNS).all(level, count)
      const events = sources.reduce((sum, run) => sum + run.events, 0)
      const plan = planRun(this.#db, level + 1, events)
      this.#db.prepare(INSERT_PROGRESS).run(plan.runNo)
      for (const { runNo } of sources) this.#db.prepare(INSERT_SOURCE).run(plan.runNo, runNo)
      if (level === 0) this.#cohorts.join(plan)
      return plan
    })
    return this.#mergeInto(begin.immediate(), 0)
  }

  #mergeInto(plan: RunPlan, nextBlock: number): LevelMerge {
    const place = this.#cohorts.placeOf(plan.runNo)
    const storedWord = firstWordOf(nextBlock, plan.blocks)
    const filter =
      place === undefined
        ? new OwnFilterWriter(this.#db, plan)
        : new CohortFilterWriter(this.#db, { ...plan, ...place }, storedWord)
    return this.#mergeWith(filter, nextBlock)
  }

  /** Takes a run into a cohort that a version before has begun with a filter of its own. */
  #adopt(plan: RunPlan, nextBlock: number): LevelMerge {
    const adopt = this.#db.transaction(() => {
      new FilterParts(this.#db, plan).delete()
      const filter = new CohortFilterWriter(this.#db, this.#cohorts.join(plan), 0)
      const merge = this.#mergeWith(filter, nextBlock)
      merge.writer.storeFilter()
      return merge
    })
    return adopt.immediate()
  }

  #mergeWith(filter: RunFilterWriter, nextBlock: number): LevelMerge {
    const writer = new RunWriter(this.#db, filter)
    const { runNo } = filter.run
    const sources = this.#db.prepare<[number], RunPlan>(SOURCES).all(runNo)
    this.#learn(writer, nextBlock)
    return { writer, sources, nextBlock, allowance: 0, allowanceMax: 0 }
  }

  #move({ writer, sources, nextBlock }: LevelMerge): Moved {
    const { runNo, blocks } = writer.run
    const stop = Math.min(nextBlock + this.#plan.blocksPerStep, blocks)
    let from = nextBlock
    while (from < stop) {
      const to = Math.min(from + BLOCKS_PER_STRETCH, stop)
      const firstWord = firstWordOf(from, blocks)
      const lastWord = firstWordOf(to, blocks) - 1
      this.#shuffle.clear()
      for (const source of sources) {
        const first = blockOf(firstWord, source.blocks)
        const last = blockOf(lastWord, source.blocks)
        const events = this.#blocks.read(source.runNo, first, last + 1)
        this.#shuffle.gather(events)
        giveBack(events)
      }
      this.#shuffle.write(writer, from, to)
      from = to
    }
    for (const source of sources) {
      const moved = blockOf(firstWordOf(stop, blocks), source.blocks)
      this.#deleteBlocks.run(blockId(source, 0), blockId(source, moved))
    }
    this.#setNextBlock.run(stop, runNo)
    if (stop === blocks) return { stop, segments: this.#finish(writer) }
    const segments = writer.storeFilter()
    this.#cohorts.deleteSegments(runNo, segmentsBelow(writer.filter.knownBelowWord))
    return { stop, segments }
  }

  #finish(writer: RunWriter): NumberedSegment[] {
    const { runNo } = writer.run
    const segments = writer.putIntoUse()
    this.#cohorts.deleteSegments(runNo, SEGMENTS)
    this.#cohorts.deleteRuns(runNo)
    this.#db.prepare(PUT_OUT_OF_USE).run(runNo)
    this.#db.prepare(DELETE_PROGRESS).run(runNo)
    return segments
  }

  /**
   * The filter is stored up to a line, and that ends before the blocks do: what lies between is
   * made of those again. Versions before have not stored it at all.
   */
  #learn(writer: RunWriter, nextBlock: number): void {
    const { run } = writer
    let from = blockOf(writer.filter.knownBelowWord, run.blocks)
    while (from < nextBlock) {
      const to = Math.min(from + BLOCKS_PER_STRETCH, nextBlock)
      writer.learn(this.#blocks.read(run.runNo, from, to))
      writer.finishKeysBefore(to)
      from = to
    }
  }
}

function progressOf(
  { writer, sources, nextBlock }: LevelMerge,
  segments: readonly NumberedSegment[],
): MergeProgress {
  const { run, filter } = writer
  const sourceNos = sources.map(({ runNo }) => runNo)
  const isWhole = nextBlock === run.blocks
  return { run, segments, sourceNos, belowWord: filter.knownBelowWord, isWhole }
}

function blockId({ runNo }: Pick<RunPlan, 'runNo'>, block: number): number {
  return runNo * RUN_STRIDE + block
}
