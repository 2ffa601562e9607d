// What a run of the sealed ledger is to those who write, merge, ask and check runs. Types only.

import type { Segment } from './cohort-segment.ts'
import type { RunGeneration } from './run-generation.ts'

/** What is known of a run before its events. */
export interface RunPlan {
  readonly runNo: number
  readonly events: number
  readonly blocks: number
  /** Of which kind its own filter is, see `mayBeIn` in run-filter.ts. */
  readonly filterWord: number
}

/** A run with a filter of its own. */
export interface LedgerRun extends RunPlan {
  readonly filter: Uint32Array
  /** Its lines before this one have been given back: what they know is in another run by now. */
  readonly firstLine: number
}

/** A run that the filter of a cohort knows, by its slot there. */
export interface CohortRun extends RunPlan {
  /** The number of the first run that the cohort has had. */
  readonly cohortNo: number
  readonly slot: number
}

/** Runs that are going to be merged with each other, with the filter that they have in common. */
export interface StoredCohort {
  readonly cohortNo: number
  readonly runs: readonly CohortRun[]
  readonly segments: readonly NumberedSegment[]
}

export interface NumberedSegment {
  readonly segmentNo: number
  readonly segment: Segment
}

/** A run that has just been sealed, with the generation that it was added to. */
export interface SealedRun {
  readonly run: LedgerRun
  readonly generation: RunGeneration
}

/** What a start finds. */
export interface StoredRuns {
  /** Runs of the first level, the newest first, with a generation for them. */
  readonly young: readonly LedgerRun[]
  readonly generation: RunGeneration
  readonly cohorts: readonly StoredCohort[]
  readonly old: readonly LedgerRun[]
  /** Merges that were stopped on their way; the runs that they merge are among the others. */
  readonly merging: readonly MergeProgress[]
}

/** How far a merge is. */
export interface MergeProgress {
  /** What is merged into; a filter of its own is in memory that both threads see. */
  readonly run: LedgerRun | CohortRun
  /** What has been made again of the filter of its cohort. */
  readonly segments: readonly NumberedSegment[]
  readonly sourceNos: readonly number[]
  /** The events with a lower first word are in the run, and its filter knows them. */
  readonly belowWord: number
  /** All are, and the runs that they came from are out of use. */
  readonly isWhole: boolean
}
