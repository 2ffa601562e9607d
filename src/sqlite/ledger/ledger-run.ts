// What a run of the sealed ledger is to those who write, merge, ask and check runs. Types only.

import type { RunGeneration } from './run-generation.ts'

/** What is known of a run before its events. */
export interface RunPlan {
  readonly runNo: number
  readonly events: number
  readonly blocks: number
}

/** A run in use. */
export interface LedgerRun extends RunPlan {
  readonly filter: Uint32Array
  /** Of which kind it is, see `mayBeIn` in run-filter.ts. */
  readonly filterWord: number
}

/** A run that has just been sealed, with the generation that it was added to. */
export interface SealedRun {
  readonly run: LedgerRun
  readonly generation: RunGeneration
}

/** What a start finds. */
export interface StoredRuns {
  /** Runs of the first level, with a generation for them. */
  readonly young: readonly LedgerRun[]
  readonly generation: RunGeneration
  readonly old: readonly LedgerRun[]
}

/** A finished merge. */
export interface Merge {
  readonly run: LedgerRun
  readonly replacedRunNos: readonly number[]
}
