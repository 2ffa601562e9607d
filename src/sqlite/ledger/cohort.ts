// A cohort as the look-up thread has it: the segments of its filter, and its runs by their slots.

import { giveBack } from '../../domain/give-back.ts'
import { EMPTY_SEGMENT } from './cohort-segment.ts'
import type { Segment } from './cohort-segment.ts'
import type { MergedRun, NumberedSegment } from './ledger-run.ts'
import { SEGMENTS } from './run-block.ts'

export class Cohort {
  readonly #segments: Segment[] = Array.from({ length: SEGMENTS }, () => EMPTY_SEGMENT)
  readonly #runs: MergedRun[] = []

  /** All, by their numbers. */
  get segments(): readonly Segment[] {
    return this.#segments
  }

  runOf(slot: number): MergedRun | undefined {
    return this.#runs[slot]
  }

  /** Takes segments into use that know more of runs than those before. */
  take(runs: readonly MergedRun[], segments: readonly NumberedSegment[]): void {
    for (const run of runs) this.#runs[run.slot] = run
    for (const { segmentNo, segment } of segments) {
      const before = this.#segments[segmentNo]
      this.#segments[segmentNo] = segment
      if (before !== undefined && before !== EMPTY_SEGMENT) giveBack(Buffer.from(before.buffer))
    }
  }
}
