// Making the filter of a cohort know a run that is being written: one segment after the other is
// made again with the keys of the run, in the transaction that writes the blocks of the last ones.
// So is the fine filter of the run.

import { giveBack } from '../../domain/give-back.ts'
import type { Connection } from '../database.ts'
import {
  EMPTY_SEGMENT,
  firstWordOfSegment,
  positionOf,
  segmentOf,
  segmentsBelow,
} from './cohort-segment.ts'
import { SegmentMerger } from './cohort-segment-merger.ts'
import { CohortStore } from './cohort-store.ts'
import { toStarts } from './counting-sort.ts'
import { FineFilterWriter } from './fine-filter.ts'
import type { CohortRun, NumberedSegment } from './ledger-run.ts'
import type { RunFilterWriter } from './run-writer.ts'

export class CohortFilterWriter implements RunFilterWriter {
  readonly run: CohortRun
  readonly #store: CohortStore
  readonly #merger = new SegmentMerger()
  readonly #fine: FineFilterWriter
  // Keys of segments that are not stored: which segment, and the position in it.
  #segmentNos = new Uint8Array(0)
  #positions = new Int32Array(0)
  #count = 0
  #ordered = new Int32Array(0)
  /** Segments before it are stored. */
  #nextSegment: number
  /** All keys of segments before it are there. */
  #stopSegment: number

  /** @param belowWord keys with a lower first word have been stored */
  constructor(db: Connection, run: CohortRun, belowWord: number) {
    this.run = run
    this.#store = new CohortStore(db)
    this.#fine = new FineFilterWriter(db, run)
    this.#nextSegment = segmentsBelow(belowWord)
    this.#stopSegment = this.#nextSegment
  }

  know(w0: number, w1: number, w2: number, w3: number): void {
    if (this.#count === this.#positions.length) this.#grow()
    this.#segmentNos[this.#count] = segmentOf(w0)
    this.#positions[this.#count] = positionOf(w0, w1)
    this.#count++
    this.#fine.know(w0, w1, w2, w3)
  }

  isFinished(w0: number): boolean {
    return segmentOf(w0) < this.#nextSegment
  }

  finishBelow(word: number): void {
    this.#stopSegment = segmentsBelow(word)
  }

  get knownBelowWord(): number {
    return firstWordOfSegment(this.#nextSegment)
  }

  store(): NumberedSegment[] {
    const written: NumberedSegment[] = []
    if (this.#stopSegment === this.#nextSegment) return written
    const stops = this.#takeOrdered()
    let start = 0
    for (let at = 0; at < stops.length; at++) {
      const stop = stops[at] ?? 0
      written.push(this.#write(this.#nextSegment + at, this.#ordered.subarray(start, stop)))
      start = stop
    }
    this.#nextSegment = this.#stopSegment
    this.#fine.storeBefore(this.#stopSegment)
    return written
  }

  #write(segmentNo: number, positions: Int32Array): NumberedSegment {
    const { cohortNo, slot } = this.run
    const before = this.#store.segment(cohortNo, segmentNo)
    const written = { segmentNo, segment: this.#merger.merge(before, positions, slot) }
    if (before !== EMPTY_SEGMENT) giveBack(Buffer.from(before.buffer))
    this.#store.setSegment(cohortNo, written)
    return written
  }

  /**
   * Takes the keys of the segments that are whole, and puts them into their order.
   *
   * @returns for each of these segments where its keys end
   */
  #takeOrdered(): Int32Array {
    const first = this.#nextSegment
    const next = new Int32Array(this.#stopSegment - first)
    for (let key = 0; key < this.#count; key++) {
      const at = (this.#segmentNos[key] ?? 0) - first
      if (at < next.length) next[at] = (next[at] ?? 0) + 1
    }
    const taken = toStarts(next, next.length)
    if (taken > this.#ordered.length) this.#ordered = new Int32Array(taken)
    let left = 0
    for (let key = 0; key < this.#count; key++) {
      const segmentNo = this.#segmentNos[key] ?? 0
      const position = this.#positions[key] ?? 0
      const at = segmentNo - first
      if (at < next.length) {
        const place = next[at] ?? 0
        next[at] = place + 1
        this.#ordered[place] = position
      } else {
        this.#segmentNos[left] = segmentNo
        this.#positions[left++] = position
      }
    }
    this.#count = left
    return next
  }

  #grow(): void {
    const capacity = Math.max(1_024, this.#positions.length * 2)
    const segmentNos = new Uint8Array(capacity)
    segmentNos.set(this.#segmentNos)
    this.#segmentNos = segmentNos
    const positions = new Int32Array(capacity)
    positions.set(this.#positions)
    this.#positions = positions
  }
}
