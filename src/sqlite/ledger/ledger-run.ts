// What a run of the sealed ledger is to those who write, merge, ask and check runs. Types only.

import type { RunGeneration } from './run-generation.ts'

/** What is known of a run before its events. */
export interface RunPlan {
  readonly runNo: number
  readonly events: number
  readonly blocks: number
  /** Of which kind its filter is, see `mayBeIn` in run-filter.ts. */
  readonly filterWord: number
}

/** A run in use. */
export interface LedgerRun extends RunPlan {
  readonly filter: Uint32Array
  /** Its lines before this one have been given back: what they know is in another run by now. */
  readonly firstLine: number
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
  readonly old: readonly LedgerRun[]
  /** Merges that were stopped on their way; the runs that they merge are among the others. */
  readonly merging: readonly MergeProgress[]
}

/** How far a merge is. */
export interface MergeProgress {
  /** What is merged into; its filter is in memory that both threads see, and is being written. */
  readonly run: LedgerRun
  readonly sourceNos: readonly number[]
  /** The events with a lower first word are in the run, and its filter knows them. */
  readonly belowWord: number
  /** All are, and the runs that they came from are out of use. */
  readonly isWhole: boolean
}
