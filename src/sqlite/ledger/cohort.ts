// A cohort for the look-up thread: the segments of its filter, and its runs by slot.

import { giveBack } from '../../bytes/give-back.ts'
import { EMPTY_SEGMENT } from './cohort-segment.ts'
import type { Segment } from './cohort-segment.ts'
import type { MergedRun, NumberedSegment } from './ledger-run.ts'
import { SEGMENTS } from './run-block.ts'

export class Cohort {
  readonly #segments: Segment[] = Array.from({ length: SEGMENTS }, () => EMPTY_SEGMENT)
  readonly #runs: MergedRun[] = []

  /** All segments, by number. */
  get segments(): readonly Segment[] {
    return this.#segments
  }

  runOf(slot: number): MergedRun | undefined {
    return this.#runs[slot]
  }

  /** Replaces segments by newer ones, which know more. */
  take(runs: readonly MergedRun[], segments: readonly NumberedSegment[]): void {
    for (const run of runs) this.#runs[run.slot] = run
    for (const { segmentNo, segment } of segments) {
      const before = this.#segments[segmentNo]
      this.#segments[segmentNo] = segment
      if (before !== undefined && before !== EMPTY_SEGMENT) giveBack(Buffer.from(before.buffer))
    }
  }
}
