// Asking for events of the sealed part of the ledger: which run may hold a key, and what is under
// it. The filters are in memory; a key that no filter knows costs no disk access.

import { giveBack } from '../../domain/give-back.ts'
import type { Connection } from '../database.ts'
import { Cohort } from './cohort.ts'
import { CohortProbe } from './cohort-probe.ts'
import { SEGMENTS, segmentsBelow } from './cohort-segment.ts'
import { KEY_WORDS } from '../event-key.ts'
import { FineFilters } from './fine-filter.ts'
import type { StoredEvent } from './hot-ledger.ts'
import { FilterProbe } from './key-filter.ts'
import { KeyList } from './key-list.ts'
import { EventLookUp } from './event-look-up.ts'
import type {
  CohortRun,
  LedgerRun,
  MergeProgress,
  RunPlan,
  SealedRun,
  StoredRuns,
} from './ledger-run.ts'
import { cutBelow, hasQuotientFilter, lineOf, linesOf, RunFilterProbe } from './run-filter.ts'
import type { RunGeneration } from './run-generation.ts'

/** Runs that a filter stands for that they have in common. */
interface YoungRuns {
  readonly generation: RunGeneration
  /** First those that were sealed, or had a key, last: batches sent again are in one run. */
  readonly runs: readonly LedgerRun[]
}

/** Runs of which the events with a first word below `belowWord` are in the target by now. */
interface MergingRuns {
  readonly runs: readonly LedgerRun[]
  readonly target: LedgerRun
  readonly belowWord: number
}

/** Young runs of which the events with a first word below `belowWord` are in a cohort by now. */
interface YoungMerge {
  readonly sourceNos: ReadonlySet<number>
  readonly belowWord: number
}

/** By the place of a key among those that were asked about: the event that has it. */
export interface FoundEvents {
  has(place: number): boolean
  set(place: number, event: StoredEvent): void
}

/** A filter is cut when so much of it is not needed any more. */
const CUT_SHARE_MIN = 1 / 8

/**
 * If more than 1 key in 32 is a candidate, this is a re-send: skip the fine filters, the
 * blocks will be read anyway.
 */
const KEYS_PER_CANDIDATE_MIN = 32

export class SealedEvents {
  readonly #inOneView
  readonly #lookUp
  readonly #fineFilters
  readonly #probe = new FilterProbe()
  readonly #runProbe = new RunFilterProbe()
  readonly #cohortProbe = new CohortProbe()
  readonly #below = new KeyList()
  readonly #others = new KeyList()
  #young: readonly YoungRuns[]
  #cohorts: readonly Cohort[] = []
  #old: readonly LedgerRun[]
  #merging: readonly MergingRuns[] = []
  #youngMerge: YoungMerge | undefined

  constructor(db: Connection, { young, generation, cohorts, old, merging }: StoredRuns) {
    this.#inOneView = db.transaction((work: () => void) => work())
    this.#lookUp = new EventLookUp(db)
    this.#fineFilters = new FineFilters(db)
    this.#young = young.length === 0 ? [] : [{ generation, runs: young }]
    this.#old = old
    for (const { cohortNo, runs, segments } of cohorts) {
      for (const run of runs) this.#cohort(cohortNo).addRun(run)
      this.#cohort(cohortNo).takeSegments(segments)
    }
    for (const progress of merging) this.noteMerged(progress)
  }

  /** Takes a run that was just sealed into use. */
  addRun({ run, generation }: SealedRun): void {
    const isKnown = this.#young.some((group) => group.generation.no === generation.no)
    const groups = isKnown ? this.#young : [...this.#young, { generation, runs: [] }]
    this.#young = groups.map((group) =>
      group.generation.no === generation.no ? { ...group, runs: [run, ...group.runs] } : group,
    )
  }

  /**
   * Takes as much of a run into use as is written, in place of those that it is merged from. A step
   * that failed is taken again, and what was read of the filter then is behind it: that is passed
   * over.
   */
  noteMerged(progress: MergeProgress): void {
    const { run } = progress
    if ('slot' in run) this.#noteYoungMerged(run, progress)
    else this.#noteOldMerged(run, progress)
  }

  // One filter stands for the young ones all: that one stays until the run is whole.
  #noteYoungMerged(run: CohortRun, { segments, sourceNos, belowWord, isWhole }: MergeProgress) {
    if (belowWord < (this.#youngMerge?.belowWord ?? 0)) return
    const cohort = this.#cohort(run.cohortNo)
    cohort.addRun(run)
    cohort.takeSegments(segments)
    const sources = new Set(sourceNos)
    this.#youngMerge = isWhole ? undefined : { sourceNos: sources, belowWord }
    const left = (runs: readonly LedgerRun[]) =>
      isWhole
        ? runs.filter(({ runNo }) => !sources.has(runNo))
        : runs.map((young) => (sources.has(young.runNo) ? cutIfWorthIt(young, belowWord) : young))
    this.#young = this.#young
      .map((group) => ({ ...group, runs: left(group.runs) }))
      .filter((group) => group.runs.length > 0)
  }

  #noteOldMerged(run: LedgerRun, { sourceNos, belowWord, isWhole }: MergeProgress): void {
    const isSource = ({ runNo }: LedgerRun) => sourceNos.includes(runNo)
    const before = this.#merging.find(({ target }) => target.runNo === run.runNo)
    const runs = before?.runs ?? this.#old.filter(isSource)
    if (before !== undefined && belowWord < before.belowWord) return
    this.#old = this.#old.filter((old) => !isSource(old))
    this.#merging = this.#merging.filter((group) => group !== before)
    if (isWhole) this.#old = [...this.#old, run]
    else
      this.#merging = [...this.#merging, { runs: cutOne(runs, belowWord), target: run, belowWord }]
    for (const cohort of this.#cohorts.filter((one) => one.isMadeOf(sourceNos))) {
      cohort.dropSegments(isWhole ? SEGMENTS : segmentsBelow(belowWord))
    }
    if (!isWhole) return
    for (const cohort of this.#cohorts) cohort.forget(sourceNos)
    this.#cohorts = this.#cohorts.filter(({ hasRuns }) => hasRuns)
  }

  #cohort(cohortNo: number): Cohort {
    const known = this.#cohorts.find((cohort) => cohort.cohortNo === cohortNo)
    if (known !== undefined) return known
    const cohort = new Cohort(cohortNo)
    this.#cohorts = [...this.#cohorts, cohort]
    return cohort
  }

  /**
   * Finds the events that have one of the keys, in one view of the file: the runs may be being
   * merged.
   *
   * @param keys four words each
   * @param count how many of them are asked about
   */
  findAll(keys: Uint32Array, count: number, found: FoundEvents): void {
    this.#inOneView(() => this.#findAll(keys, count, found))
  }

  #findAll(keys: Uint32Array, count: number, found: FoundEvents): void {
    for (const { generation, runs } of this.#young) {
      const candidates = this.#probe.candidates(generation.filter, 0, keys, count)
      if (candidates.length > 0) this.#findInYoung(runs, keys, candidates, found)
    }
    for (const cohort of this.#cohorts) this.#findInCohort(cohort, keys, count, found)
    for (const run of this.#old) this.#findIn(run, keys, this.#candidates(run, keys, count), found)
    for (const { runs, target, belowWord } of this.#merging) {
      this.#clearLists(count)
      for (let place = 0; place < count; place++) this.#list(keys, place, belowWord)
      this.#findListed(target, this.#below, found)
      for (const run of runs) this.#findListed(run, this.#others, found)
    }
  }

  /** @param places the keys that may be in any of the runs, or were before the merge */
  #findInYoung(
    runs: readonly LedgerRun[],
    keys: Uint32Array,
    places: readonly number[],
    found: FoundEvents,
  ): void {
    const merge = this.#youngMerge
    this.#clearLists(places.length)
    for (const place of places) this.#list(keys, place, merge?.belowWord ?? 0)
    for (const run of runs) {
      const isMerged = merge?.sourceNos.has(run.runNo) === true
      const inBelow = isMerged ? 0 : this.#findListed(run, this.#below, found)
      const inOthers = this.#findListed(run, this.#others, found)
      if (inBelow + inOthers > 0) this.#askFirst(run)
    }
  }

  #askFirst(run: LedgerRun): void {
    this.#young = this.#young.map((group) =>
      group.runs.includes(run)
        ? { ...group, runs: [run, ...group.runs.filter((other) => other !== run)] }
        : group,
    )
  }

  #findInCohort(cohort: Cohort, keys: Uint32Array, count: number, found: FoundEvents): void {
    const placesBySlot = new Map<number, number[]>()
    let candidates = 0
    this.#cohortProbe.findCandidates(cohort.segments, keys, count, (place, slots) => {
      candidates++
      for (let left = slots; left !== 0; left &= left - 1) {
        const slot = 31 - Math.clz32(left & -left)
        const places = placesBySlot.get(slot)
        if (places === undefined) placesBySlot.set(slot, [place])
        else places.push(place)
      }
    })
    const isLikelyNew = candidates * KEYS_PER_CANDIDATE_MIN <= count
    for (const [slot, places] of placesBySlot) {
      const run = cohort.runOf(slot)
      if (run === undefined) continue
      const mayBeIn = (place: number) => this.#fineFilters.mayBeIn(run, keys, place * KEY_WORDS)
      this.#findIn(run, keys, isLikelyNew ? places.filter(mayBeIn) : places, found)
    }
  }

  #clearLists(countMax: number): void {
    this.#below.clear(countMax)
    this.#others.clear(countMax)
  }

  #list(keys: Uint32Array, place: number, belowWord: number): void {
    const isBelow = (keys[place * KEY_WORDS] ?? 0) < belowWord
    const list = isBelow ? this.#below : this.#others
    list.add(keys, place)
  }

  /** @returns how many of the listed keys it has */
  #findListed(run: LedgerRun, list: KeyList, found: FoundEvents): number {
    const candidates = this.#candidates(run, list.words, list.count)
    if (candidates.length === 0) return 0
    const foundInList = new Map<number, StoredEvent>()
    this.#findIn(run, list.words, candidates, foundInList)
    for (const [at, event] of foundInList) found.set(list.placeOf(at), event)
    if (foundInList.size > 0) list.removeFound(found)
    return foundInList.size
  }

  /** The places of the keys that may be in the run. */
  #candidates(run: LedgerRun, keys: Uint32Array, count: number): number[] {
    const { filter, filterWord } = run
    if (hasQuotientFilter(run)) return this.#runProbe.candidates(run, keys, count)
    return this.#probe.candidates(filter, filterWord, keys, count)
  }

  // In the order of the keys, which is that of their blocks: those of one page are read with it.
  #findIn(run: RunPlan, keys: Uint32Array, places: number[], found: FoundEvents): void {
    places.sort((one, other) => (keys[one * KEY_WORDS] ?? 0) - (keys[other * KEY_WORDS] ?? 0))
    this.#lookUp.findAll(run, keys, places, found)
  }
}

/** Gives back what filters know of keys below that first word: of one at a time, it is copied. */
function cutOne(runs: readonly LedgerRun[], belowWord: number): readonly LedgerRun[] {
  const place = runs.findIndex((run) => isWorthCutting(run, belowWord))
  return runs.map((run, at) => (at === place ? cut(run, belowWord) : run))
}

function cutIfWorthIt(run: LedgerRun, belowWord: number): LedgerRun {
  return isWorthCutting(run, belowWord) ? cut(run, belowWord) : run
}

function cut(run: LedgerRun, belowWord: number): LedgerRun {
  const left = cutBelow(run, belowWord)
  giveBack(Buffer.from(run.filter.buffer))
  return left
}

function isWorthCutting(run: LedgerRun, belowWord: number): boolean {
  const lines = linesOf(run)
  const isMuch = lineOf(lines, belowWord) - run.firstLine >= lines * CUT_SHARE_MIN
  return hasQuotientFilter(run) && isMuch
}
