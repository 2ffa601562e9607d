// Runs as `verify` sees them: merged runs with their stored filters, young runs with a filter built
// while their events are read.

import { ifWhole } from '../database.ts'
import type { Connection } from '../database.ts'
import { EMPTY_SEGMENT, mayBeInSlot, positionOf } from '../ledger/cohort-segment.ts'
import type { Segment } from '../ledger/cohort-segment.ts'
import { CohortStore } from '../ledger/cohort-store.ts'
import { KEY_WORDS } from '../event-key.ts'
import { FineFilters } from '../ledger/fine-filter.ts'
import { addToFilter, mayContain } from '../ledger/key-filter.ts'
import { segmentOf } from '../ledger/ledger-run.ts'
import type { MergedRun, Run, YoungRun } from '../ledger/ledger-run.ts'
import { newOwnFilter, OWN_CACHE_LINE_WORD } from '../ledger/run-generation.ts'

export type KnownRun = KnownYoungRun | KnownMergedRun

type KnownYoungRun = Pick<YoungRun, keyof Run | 'filter'>

type KnownMergedRun = MergedRun & {
  readonly cohort: KnownCohort
  readonly fine: FineFilters
}

interface KnownCohort {
  segments: ReadonlyMap<number, Segment>
  /** As of the time they were read. */
  progress: string
}

const PROGRESS = `
  SELECT group_concat(run_no || ' ' || segments_written) FROM runs WHERE merged_no IS NOT NULL`

/**
 * Whether the key at `offset` may be in the run: never false for one that is, if everything is
 * whole.
 */
export function mayBeKnown(run: KnownRun, keys: Uint32Array, offset: number): boolean {
  const [w0 = 0, w1 = 0, w2 = 0] = keys.subarray(offset, offset + KEY_WORDS)
  if ('filter' in run) {
    return mayContain(run.filter, keys[offset + OWN_CACHE_LINE_WORD] ?? 0, w1, w2)
  }
  const segment = run.cohort.segments.get(segmentOf(w0)) ?? EMPTY_SEGMENT
  return mayBeInSlot(segment, positionOf(w0, w1), run.slot) && mayBeInFine(run, keys, offset)
}

/** A damaged filter knows nothing. */
function mayBeInFine(run: KnownMergedRun, keys: Uint32Array, offset: number): boolean {
  return ifWhole(() => run.fine.mayBeIn(run, keys, offset)) === true
}

/** Adds the key at `offset` to a young run's filter; merged runs have theirs stored. */
export function learn(run: KnownRun, keys: Uint32Array, offset: number): void {
  if (!('filter' in run)) return
  const [, w1 = 0, w2 = 0] = keys.subarray(offset, offset + KEY_WORDS)
  addToFilter(run.filter, keys[offset + OWN_CACHE_LINE_WORD] ?? 0, w1, w2)
}

export class KnownRuns {
  readonly #db: Connection
  readonly #cohortStore: CohortStore
  readonly #cohorts = new Map<number, KnownCohort>()

  constructor(db: Connection) {
    this.#db = db
    this.#cohortStore = new CohortStore(db)
  }

  readYoung(run: Run): KnownYoungRun {
    return { ...run, filter: newOwnFilter(run.events) }
  }

  /** The merged run with that number, if there is one. */
  readMerged(runNo: number): KnownMergedRun | undefined {
    const run = this.#cohortStore.runs().find((merged) => merged.runNo === runNo)
    if (run === undefined) return undefined
    const fine = new FineFilters(this.#db)
    return { ...run, cohort: this.#readCohort(run.cohortNo), fine }
  }

  /** Segments only ever learn, so runs read earlier can use the newest ones too. */
  #readCohort(cohortNo: number): KnownCohort {
    const progress = this.#db.prepare<[], string>(PROGRESS).pluck().get() ?? ''
    const cohort = this.#cohorts.get(cohortNo) ?? { segments: new Map(), progress: '' }
    this.#cohorts.set(cohortNo, cohort)
    if (cohort.progress === progress) return cohort
    const segments = this.#cohortStore.segments(cohortNo)
    cohort.segments = new Map(segments.map(({ segmentNo, segment }) => [segmentNo, segment]))
    cohort.progress = progress
    return cohort
  }
}
