// Finds events in the sealed part of the ledger: which run may have a key, and what is stored under
// it. The filters are in memory; a key unknown to all of them costs no disk access.

import { DamagedData, inOneViewOf } from '../database.ts'
import type { Connection } from '../database.ts'
import { KEY_WORDS } from '../event-key.ts'
import { Cohort, CohortProbe } from './cohort.ts'
import { EventLookUp, LookUpLate } from './event-look-up.ts'
import type { Finder } from './event-look-up.ts'
import { FineFilters } from './fine-filter.ts'
import { FilterProbe } from './key-filter.ts'
import { segmentOf, SEGMENTS } from './ledger-run.ts'
import type {
  MergedRun,
  MergeProgress,
  Run,
  RunGeneration,
  SealedRun,
  StoredRuns,
  YoungRun,
} from './ledger-run.ts'
import { GENERATION_CACHE_LINE_WORD, OWN_CACHE_LINE_WORD } from './run-generation.ts'

/** A generation with its runs. */
interface YoungRuns {
  readonly generation: RunGeneration
  /** First those sealed last, or hit last: batches sent again are in one run. */
  readonly runs: readonly YoungRun[]
}

/** The events found, by the place of their key. */
export interface FoundEvents extends Finder {
  has(place: number): boolean
  /** A key could not be looked up: its event may exist or not. */
  setUnknown(place: number, reason: DamagedData | LookUpLate): void
}

/**
 * If more than 1 key in 32 is a candidate, this is a re-send: skip the fine filters, because the
 * blocks will be read anyway.
 */
const KEYS_PER_CANDIDATE_MIN = 32

export class SealedEvents {
  readonly #inOneView
  readonly #lookUp
  readonly #fineFilters
  readonly #probe = new FilterProbe()
  readonly #cohortProbe = new CohortProbe()
  #young: readonly YoungRuns[]
  readonly #cohorts: Cohort[] = []

  constructor(db: Connection, { young, generation, cohorts }: StoredRuns) {
    this.#inOneView = inOneViewOf(db)
    this.#lookUp = new EventLookUp(db)
    this.#fineFilters = new FineFilters(db)
    this.#young = young.length === 0 ? [] : [{ generation, runs: young }]
    for (const { runs, segments } of cohorts) {
      const cohort = new Cohort()
      cohort.take(runs, segments)
      this.#cohorts.push(cohort)
    }
  }

  /** Takes a newly sealed run into use. */
  addRun({ run, generation }: SealedRun): void {
    const isKnown = this.#young.some((group) => group.generation.no === generation.no)
    const groups = isKnown ? this.#young : [...this.#young, { generation, runs: [] }]
    this.#young = groups.map((group) =>
      group.generation.no === generation.no ? { ...group, runs: [run, ...group.runs] } : group,
    )
  }

  /** From now on looks for merged segments in the merged run alone. */
  noteMerged({ run, segments, sourceNos, stopSegment }: MergeProgress): void {
    const cohort = (this.#cohorts[run.cohortNo] ??= new Cohort())
    cohort.take([run], segments)
    const moved = (young: YoungRun) =>
      sourceNos.includes(young.runNo) ? { ...young, movedBelow: stopSegment } : young
    this.#young = this.#young
      .map(({ generation, runs }) => ({ generation, runs: runs.map(moved).filter(hasEvents) }))
      .filter(({ runs }) => runs.length > 0)
  }

  /**
   * Finds the events that have one of some keys, in one view of the file, which takes less time.
   *
   * @param keys four words each
   * @param places of the keys that are asked about
   */
  findAll(keys: Uint32Array, places: readonly number[], found: FoundEvents): void {
    this.#inOneView(() => {
      for (const young of this.#young) this.#findInYoung(young, keys, places, found)
      for (const cohort of this.#cohorts) this.#findInCohort(cohort, keys, places, found)
    })
  }

  #findInYoung(
    { generation, runs }: YoungRuns,
    keys: Uint32Array,
    places: readonly number[],
    found: FoundEvents,
  ): void {
    const { filter } = generation
    let left = this.#probe.candidates(filter, GENERATION_CACHE_LINE_WORD, keys, places)
    for (const run of runs) {
      if (left.length === 0) return
      const inRun = withoutMoved(run, keys, left)
      const candidates = this.#probe.candidates(run.filter, OWN_CACHE_LINE_WORD, keys, inRun)
      if (candidates.length === 0) continue
      this.#findIn(run, keys, candidates, found)
      const stillLeft = left.filter((place) => !found.has(place))
      if (stillLeft.length < left.length) this.#askFirst(run)
      left = stillLeft
    }
  }

  #askFirst(run: YoungRun): void {
    this.#young = this.#young.map((group) =>
      group.runs.includes(run)
        ? { ...group, runs: [run, ...group.runs.filter((other) => other !== run)] }
        : group,
    )
  }

  #findInCohort(
    cohort: Cohort,
    keys: Uint32Array,
    places: readonly number[],
    found: FoundEvents,
  ): void {
    const placesBySlot = new Map<number, number[]>()
    let candidates = 0
    this.#cohortProbe.findCandidates(cohort.segments, keys, places, (place, slots) => {
      candidates++
      for (let left = slots; left !== 0; left &= left - 1) {
        const slot = 31 - Math.clz32(left & -left)
        const ofSlot = placesBySlot.get(slot)
        if (ofSlot === undefined) placesBySlot.set(slot, [place])
        else ofSlot.push(place)
      }
    })
    const isLikelyNew = candidates * KEYS_PER_CANDIDATE_MIN <= places.length
    for (const [slot, ofSlot] of placesBySlot) {
      const run = cohort.runOf(slot)
      if (run === undefined) continue
      const mayBeIn = (place: number) => this.#mayBeIn(run, keys, place)
      this.#findIn(run, keys, isLikelyNew ? ofSlot.filter(mayBeIn) : ofSlot, found)
    }
  }

  /** What a fine filter that is damaged says does not matter: the block knows. */
  #mayBeIn(run: MergedRun, keys: Uint32Array, place: number): boolean {
    try {
      return this.#fineFilters.mayBeIn(run, keys, place * KEY_WORDS)
    } catch (error) {
      if (!(error instanceof DamagedData)) throw error
      return true
    }
  }

  // In the order of the keys, which is that of their blocks: those of one page are read with it.
  #findIn(run: Run, keys: Uint32Array, places: number[], found: FoundEvents): void {
    places.sort((one, other) => (keys[one * KEY_WORDS] ?? 0) - (keys[other * KEY_WORDS] ?? 0))
    try {
      this.#lookUp.findAll(run, keys, places, found)
    } catch (error) {
      if (!isReason(error)) throw error
      for (const place of places) this.#findOne(run, keys, place, found)
    }
  }

  #findOne(run: Run, keys: Uint32Array, place: number, found: FoundEvents): void {
    try {
      this.#lookUp.findAll(run, keys, [place], found)
    } catch (error) {
      if (!isReason(error)) throw error
      found.setUnknown(place, error)
    }
  }
}

function isReason(error: unknown): error is DamagedData | LookUpLate {
  return error instanceof DamagedData || error instanceof LookUpLate
}

function hasEvents({ movedBelow }: YoungRun): boolean {
  return movedBelow < SEGMENTS
}

/** Leaves out the keys whose events have moved from a run to the one it is merged into. */
function withoutMoved(
  { movedBelow }: YoungRun,
  keys: Uint32Array,
  places: readonly number[],
): readonly number[] {
  if (movedBelow === 0) return places
  return places.filter((place) => segmentOf(keys[place * KEY_WORDS] ?? 0) >= movedBelow)
}
