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
  /** Which word of a key its line in the filter comes from. */
  readonly filterWord: number
}

/** A run that has just been sealed, with the generation that it was added to. */
export interface SealedRun {
  readonly run: LedgerRun
  readonly generation: RunGeneration
}

/** The young runs that a start has found, with a generation for them. */
export interface YoungRuns {
  readonly generation: RunGeneration
  readonly runNos: readonly number[]
}

/** A finished merge. */
export interface Merge {
  readonly run: LedgerRun
  readonly replacedRunNos: readonly number[]
}
