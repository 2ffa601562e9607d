// A cohort for the look-up thread: the segments of its filter, its runs by slot, and a probe that
// asks its filter about many keys at once.
//
// Key by key, each would wait for its bin to come from memory, and then for the keys in it. Here
// the bins of all keys are requested first, then the keys, so the waits overlap. The tests that
// most keys fail are branch-free, because their branches would be unpredictable.

import { giveBack } from '../../bytes/give-back.ts'
import { KEY_WORDS } from '../event-key.ts'
import {
  EMPTY_SEGMENT,
  firstPlaceOf,
  flagOf,
  furtherPlaceOf,
  furtherSlots,
  isQuotientUsed,
  binNoOf,
  positionOf,
  slotAt,
  startOfBin,
  wordOfKey,
} from './cohort-segment.ts'
import type { Segment } from './cohort-segment.ts'
import { segmentOf, SEGMENTS } from './ledger-run.ts'
import type { MergedRun, NumberedSegment } from './ledger-run.ts'

/** Keys asked about together: their bins, and the way there, fit into the caches. */
const STRETCH = 1_024

/** Receives the place of a key and, as bits, the slots of the runs that may have it. */
type OnCandidate = (place: number, slots: number) => void

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

export class CohortProbe {
  // By position within the stretch.
  readonly #segments: Segment[] = []
  readonly #positions = new Int32Array(STRETCH)
  readonly #bins = new Int32Array(STRETCH)
  readonly #ends = new Int32Array(STRETCH)
  // The keys whose quotient is used, and the place of its first key; and the keys whose quotient
  // several stored keys have.
  readonly #used = new Int32Array(STRETCH)
  readonly #firstPlaces = new Int32Array(STRETCH)
  readonly #further = new Int32Array(STRETCH)
  readonly #furtherPlaces = new Int32Array(STRETCH)
  /** Made from what was prefetched; otherwise the optimizer would drop the reads. */
  fetched = 0

  /**
   * Finds which runs may have which keys: never misses one that has.
   *
   * @param segments all segments, by number
   * @param keys four words per key
   * @param places the keys to ask about
   */
  findCandidates(
    segments: readonly Segment[],
    keys: Uint32Array,
    places: readonly number[],
    onCandidate: OnCandidate,
  ): void {
    for (let start = 0; start < places.length; start += STRETCH) {
      const some = places.slice(start, start + STRETCH)
      this.#fetchBins(segments, keys, some)
      const used = this.#findUsed(some.length)
      this.#fetchFirst(used)
      const further = this.#fetchFurther(used)
      for (let at = 0; at < used; at++) this.#tellFirst(at, some, onCandidate)
      for (let at = 0; at < further; at++) this.#tellFurther(at, some, onCandidate)
    }
  }

  #fetchBins(segments: readonly Segment[], keys: Uint32Array, places: readonly number[]): void {
    const positions = this.#positions
    const bins = this.#bins
    const ends = this.#ends
    const count = places.length
    for (let at = 0; at < count; at++) {
      const keyAt = (places[at] ?? 0) * KEY_WORDS
      const w0 = keys[keyAt] ?? 0
      const position = positionOf(w0, keys[keyAt + 1] ?? 0)
      const segment = segments[segmentOf(w0)] as Segment
      this.#segments[at] = segment
      positions[at] = position
      const binNo = binNoOf(segment, position)
      bins[at] = startOfBin(segment, binNo)
      ends[at] = startOfBin(segment, binNo + 1)
    }
    let fetched = 0
    for (let at = 0; at < count; at++) {
      const segment = this.#segments[at] as Segment
      fetched |= segment[bins[at] ?? 0] ?? 0
    }
    this.fetched |= fetched
  }

  /** @returns the number of keys whose quotient is used */
  #findUsed(count: number): number {
    let used = 0
    for (let at = 0; at < count; at++) {
      const segment = this.#segments[at] as Segment
      this.#used[used] = at
      used += isQuotientUsed(segment, this.#bins[at] ?? 0, this.#positions[at] ?? 0)
    }
    return used
  }

  #fetchFirst(used: number): void {
    let fetched = 0
    for (let candidate = 0; candidate < used; candidate++) {
      const at = this.#used[candidate] ?? 0
      const segment = this.#segments[at] as Segment
      const bin = this.#bins[at] ?? 0
      const place = firstPlaceOf(segment, bin, this.#positions[at] ?? 0)
      this.#firstPlaces[candidate] = place
      fetched |= segment[(this.#ends[at] ?? 0) - 1 - (place >>> 5)] ?? 0
      fetched |= segment[wordOfKey(segment, bin, place)] ?? 0
    }
    this.fetched |= fetched
  }

  /** @returns the number of keys whose quotient several stored keys have */
  #fetchFurther(used: number): number {
    let further = 0
    for (let candidate = 0; candidate < used; candidate++) {
      const at = this.#used[candidate] ?? 0
      const place = this.#firstPlaces[candidate] ?? 0
      this.#further[further] = at
      this.#furtherPlaces[further] = place
      further += flagOf(this.#segments[at] as Segment, this.#ends[at] ?? 0, place)
    }
    let fetched = 0
    for (let candidate = 0; candidate < further; candidate++) {
      const at = this.#further[candidate] ?? 0
      const segment = this.#segments[at] as Segment
      const bin = this.#bins[at] ?? 0
      const first = this.#furtherPlaces[candidate] ?? 0
      const place = furtherPlaceOf(segment, bin, this.#ends[at] ?? 0, first)
      this.#furtherPlaces[candidate] = place
      fetched |= segment[wordOfKey(segment, bin, place)] ?? 0
    }
    this.fetched |= fetched
    return further
  }

  #tellFirst(candidate: number, places: readonly number[], onCandidate: OnCandidate): void {
    const at = this.#used[candidate] ?? 0
    const segment = this.#segments[at] as Segment
    const place = this.#firstPlaces[candidate] ?? 0
    const slots = slotAt(segment, this.#bins[at] ?? 0, place, this.#positions[at] ?? 0)
    if (slots !== 0) onCandidate(places[at] ?? 0, slots)
  }

  #tellFurther(candidate: number, places: readonly number[], onCandidate: OnCandidate): void {
    const at = this.#further[candidate] ?? 0
    const segment = this.#segments[at] as Segment
    const place = this.#furtherPlaces[candidate] ?? 0
    const bin = { bin: this.#bins[at] ?? 0, end: this.#ends[at] ?? 0 }
    const slots = furtherSlots(segment, bin, place, this.#positions[at] ?? 0)
    if (slots !== 0) onCandidate(places[at] ?? 0, slots)
  }
}
