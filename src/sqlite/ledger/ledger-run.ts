// What a run of the sealed ledger is to the code that writes, merges, reads and checks runs. Types
// only.

import type { Segment } from './cohort-segment.ts'

export interface Run {
  readonly runNo: number
  readonly events: number
  /** A multiple of the number of segments: no block has keys of two segments. */
  readonly blocks: number
}

/** A run as it was sealed, with a filter of its own in memory. */
export interface YoungRun extends Run {
  readonly filter: Uint32Array
  /** The events of segments below this one are in the run that it is being merged into. */
  readonly movedBelow: number
}

/** A run made by merging young runs; its cohort's filter knows it by its slot. */
export interface MergedRun extends Run {
  readonly cohortNo: number
  readonly slot: number
}

/** A cohort as it is stored. */
export interface StoredCohort {
  readonly runs: readonly MergedRun[]
  readonly segments: readonly NumberedSegment[]
}

export interface NumberedSegment {
  readonly segmentNo: number
  readonly segment: Segment
}

/** Young runs that share a filter (run-generation.ts). */
export interface RunGeneration {
  readonly no: number
  readonly filter: Uint32Array<SharedArrayBuffer>
}

/** A run that has just been sealed, with the generation it was added to. */
export interface SealedRun {
  readonly run: YoungRun
  readonly generation: RunGeneration
}

/** What is found at start. */
export interface StoredRuns {
  /** Newest first, in one generation. */
  readonly young: readonly YoungRun[]
  readonly generation: RunGeneration
  readonly cohorts: readonly StoredCohort[]
}

/** How far a merge is. */
export interface MergeProgress {
  readonly run: MergedRun
  /** Segments of its cohort's filter that know more than before. */
  readonly segments: readonly NumberedSegment[]
  /** The young runs being merged. */
  readonly sourceNos: readonly number[]
  /** The events of segments below this one are in the merged run. */
  readonly stopSegment: number
}

/** What readers look up in a merged run alone. */
export interface TakenSegments {
  readonly runNo: number
  /** Segments below this one. */
  readonly stopSegment: number
}
