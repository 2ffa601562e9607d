// A cohort as the look-up thread has it: the segments of its filter, and its runs by their slots.

import { giveBack } from '../../domain/give-back.ts'
import { EMPTY_SEGMENT, SEGMENTS } from './cohort-segment.ts'
import type { Segment } from './cohort-segment.ts'
import type { CohortRun, NumberedSegment } from './ledger-run.ts'

export class Cohort {
  readonly cohortNo: number
  readonly #segments: Segment[] = Array.from({ length: SEGMENTS }, () => EMPTY_SEGMENT)
  readonly #runs = new Map<number, CohortRun>()

  constructor(cohortNo: number) {
    this.cohortNo = cohortNo
  }

  /** All, by their numbers. */
  get segments(): readonly Segment[] {
    return this.#segments
  }

  runOf(slot: number): CohortRun | undefined {
    return this.#runs.get(slot)
  }

  addRun(run: CohortRun): void {
    this.#runs.set(run.slot, run)
  }

  /** Takes segments into use that know more than those before. */
  takeSegments(segments: readonly NumberedSegment[]): void {
    for (const { segmentNo, segment } of segments) this.#replace(segmentNo, segment)
  }

  /** Whether it has no runs but those. */
  isMadeOf(runNos: readonly number[]): boolean {
    return [...this.#runs.values()].every(({ runNo }) => runNos.includes(runNo))
  }

  /** Gives back the segments with lower numbers: what they know is in another run by now. */
  dropSegments(stopSegment: number): void {
    for (let segmentNo = 0; segmentNo < stopSegment; segmentNo++) {
      this.#replace(segmentNo, EMPTY_SEGMENT)
    }
  }

  /** Forgets runs whose events are all in another by now. */
  forget(runNos: readonly number[]): void {
    for (const [slot, { runNo }] of this.#runs) if (runNos.includes(runNo)) this.#runs.delete(slot)
  }

  get hasRuns(): boolean {
    return this.#runs.size > 0
  }

  #replace(segmentNo: number, segment: Segment): void {
    const before = this.#segments[segmentNo]
    this.#segments[segmentNo] = segment
    if (before !== undefined && before !== EMPTY_SEGMENT) giveBack(Buffer.from(before.buffer))
  }
}
