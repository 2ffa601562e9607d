// Runs with the filters that are stored of them: a run's own, or that of its cohort.

import type { Connection } from '../database.ts'
import {
  EMPTY_SEGMENT,
  firstWordOfSegment,
  mayBeInSlot,
  positionOf,
  segmentOf,
  segmentsBelow,
} from '../ledger/cohort-segment.ts'
import type { Segment } from '../ledger/cohort-segment.ts'
import { CohortStore } from '../ledger/cohort-store.ts'
import { KEY_WORDS } from '../event-key.ts'
import { wordsIn } from '../ledger/filter-bits.ts'
import { FilterParts } from '../ledger/filter-parts.ts'
import { FineFilterInOrder } from '../ledger/fine-filter.ts'
import type { CohortRun, LedgerRun, RunPlan } from '../ledger/ledger-run.ts'
import { firstWordOf } from '../ledger/run-block.ts'
import {
  belowWordOfLine,
  filterWordToWrite,
  linesOf,
  mayBeIn,
  wordsOf,
} from '../ledger/run-filter.ts'

export type KnownRun = LedgerRun | KnownCohortRun

type KnownCohortRun = CohortRun & {
  readonly cohort: KnownCohort
  /** A ledger of a version before has none. */
  readonly fine: FineFilterInOrder | undefined
}

/** Its filter knows the keys with a lower first word. */
export type RunBeingWritten = KnownRun & { readonly knownBelowWord: number }

export interface StoredRun extends RunPlan {
  readonly filter: Buffer | null
}

interface KnownCohort {
  segments: ReadonlyMap<number, Segment>
  /** Of when they were read. */
  progress: string
}

// A ledger of a version before has none.
const HAS_TABLE = 'SELECT 1 FROM sqlite_schema WHERE name = ?'
const NEXT_BLOCK = 'SELECT next_block FROM merge_progress WHERE target_no = ?'
const PROGRESS = `
  SELECT group_concat(run_no || ' ' || ifnull(next_block, ''))
  FROM cohort_runs LEFT JOIN merge_progress ON target_no = run_no WHERE cohort_no = ?`

/** Whether the key at `offset` may be in the run: never false for one that is. */
export function mayBeKnown(run: KnownRun, keys: Uint32Array, offset: number): boolean {
  if (!('slot' in run)) return mayBeIn(run, keys, offset)
  const [w0 = 0, w1 = 0] = keys.subarray(offset, offset + KEY_WORDS)
  const segment = run.cohort.segments.get(segmentOf(w0)) ?? EMPTY_SEGMENT
  if (!mayBeInSlot(segment, positionOf(w0, w1), run.slot)) return false
  return run.fine?.mayBeIn(keys, offset) !== false
}

export class KnownRuns {
  readonly #db: Connection
  readonly #cohortStore: CohortStore | undefined
  readonly #hasFineFilters: boolean
  readonly #cohorts = new Map<number, KnownCohort>()

  constructor(db: Connection) {
    this.#db = db
    this.#cohortStore = this.#hasTable('cohort_runs') ? new CohortStore(db) : undefined
    this.#hasFineFilters = this.#hasTable('fine_filters')
  }

  /** A run in use. */
  read({ filter, ...plan }: StoredRun): KnownRun {
    const inCohort = this.#readOfCohort(plan)
    if (inCohort !== undefined) return inCohort
    return { ...plan, filter: wordsIn(filter ?? Buffer.alloc(0)), firstLine: 0 }
  }

  readBeingWritten(plan: RunPlan): RunBeingWritten {
    const inCohort = this.#readOfCohort(plan)
    if (inCohort !== undefined) {
      const nextBlock = this.#db.prepare<[number], number>(NEXT_BLOCK).pluck().get(plan.runNo)
      const segments = segmentsBelow(firstWordOf(nextBlock ?? 0, plan.blocks))
      return { ...inCohort, knownBelowWord: firstWordOfSegment(segments) }
    }
    const filterWord = filterWordToWrite(plan)
    const lines = linesOf({ ...plan, filterWord })
    const filter = new Uint32Array(wordsOf(lines))
    const stopLine = this.#hasTable('filter_parts')
      ? new FilterParts(this.#db, plan).read(filter)
      : 0
    const run = { ...plan, filter, firstLine: 0, filterWord }
    return { ...run, knownBelowWord: belowWordOfLine(stopLine, lines) }
  }

  #readOfCohort(plan: RunPlan): KnownCohortRun | undefined {
    const place = this.#cohortStore?.placeOf(plan.runNo)
    if (place === undefined) return undefined
    const fine = this.#hasFineFilters ? new FineFilterInOrder(this.#db, plan) : undefined
    return { ...plan, ...place, cohort: this.#readCohort(place.cohortNo), fine }
  }

  /** What it has known of a run it goes on to know: the runs read before see the newest as well. */
  #readCohort(cohortNo: number): KnownCohort {
    const progress = this.#db.prepare<[number], string>(PROGRESS).pluck().get(cohortNo) ?? ''
    const cohort = this.#cohorts.get(cohortNo) ?? { segments: new Map(), progress: '' }
    this.#cohorts.set(cohortNo, cohort)
    if (cohort.progress === progress) return cohort
    const segments = this.#cohortStore?.segments(cohortNo) ?? []
    cohort.segments = new Map(segments.map(({ segmentNo, segment }) => [segmentNo, segment]))
    cohort.progress = progress
    return cohort
  }

  #hasTable(name: string): boolean {
    return this.#db.prepare(HAS_TABLE).get(name) !== undefined
  }
}
