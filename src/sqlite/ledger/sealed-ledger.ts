// Reading the sealed part of the ledger: which run may hold a key, and what is under it. The
// filters are in memory; a key that no filter knows costs no disk access.

import type { SensorId } from '../../domain/sensor.ts'
import type { EpochMs } from '../../domain/time.ts'
import type { Connection } from '../database.ts'
import { KEY_WORDS } from './event-key.ts'
import type { StoredEvent } from './hot-ledger.ts'
import { FilterProbe } from './key-filter.ts'
import { KeyList } from './key-list.ts'
import { EventLookUp } from './event-look-up.ts'
import type { LedgerRun, MergeProgress, SealedRun, StoredRuns } from './ledger-run.ts'
import { cutBelow, hasQuotientFilter, lineOf, linesOf, RunFilterProbe } from './run-filter.ts'
import type { RunGeneration } from './run-generation.ts'
import { isCovered } from './time-spans.ts'

/** Runs that a filter stands for that they have in common. */
interface YoungRuns {
  readonly generation: RunGeneration
  /** The newest first: they are asked for more often. */
  readonly runs: readonly LedgerRun[]
}

/** Runs of which the events with a first word below `belowWord` are in the target by now. */
interface MergingRuns {
  readonly runs: readonly LedgerRun[]
  readonly target: LedgerRun
  readonly belowWord: number
}

/** By the place of a key among those that were asked about: the event that has it. */
export type FoundEvents = Map<number, StoredEvent>

/** Sensors whose spans are kept in memory. */
const SPAN_CACHE_MAX = 50_000

/** A filter is cut when so much of it is not needed any more. */
const CUT_SHARE_MIN = 1 / 8

const SEALED_SEQ = 'SELECT seq FROM sealed WHERE id = 1'
const SPANS = 'SELECT spans FROM time_spans WHERE sensor_id = ?'
const TIE_BREAK = 'SELECT next_ns FROM tie_breaks WHERE sensor_id = ? AND measured_at_ms = ?'

const NO_SPANS = new Float64Array(0)

export class SealedLedger {
  readonly #inOneView
  readonly #lookUp
  readonly #spans
  readonly #tieBreak
  readonly #probe = new FilterProbe()
  readonly #runProbe = new RunFilterProbe()
  readonly #below = new KeyList()
  readonly #others = new KeyList()
  readonly #spanCache = new Map<SensorId, Float64Array>()
  #young: readonly YoungRuns[]
  #old: readonly LedgerRun[]
  #merging: readonly MergingRuns[] = []
  /** Every journal row up to this one is sealed. */
  sealedSeq: number

  constructor(db: Connection, { young, generation, old, merging }: StoredRuns) {
    this.#inOneView = db.transaction((work: () => void) => work())
    this.#lookUp = new EventLookUp(db)
    this.#spans = db.prepare<[number], Buffer>(SPANS).pluck()
    this.#tieBreak = db.prepare<[number, number], number>(TIE_BREAK).pluck()
    this.#young = young.length === 0 ? [] : [{ generation, runs: young }]
    this.#old = old
    for (const progress of merging) this.noteMerged(progress)
    this.sealedSeq = db.prepare<[], number>(SEALED_SEQ).pluck().get() ?? 0
  }

  get events(): number {
    const groups = [...this.#young, ...this.#merging].flatMap(({ runs }) => runs)
    return [...groups, ...this.#old].reduce((sum, run) => sum + run.events, 0)
  }

  /** Takes a run that was just sealed into use. */
  addRun({ run, generation }: SealedRun): void {
    const isKnown = this.#young.some((group) => group.generation.no === generation.no)
    const groups = isKnown ? this.#young : [...this.#young, { generation, runs: [] }]
    this.#young = groups.map((group) =>
      group.generation.no === generation.no ? { ...group, runs: [run, ...group.runs] } : group,
    )
    this.#spanCache.clear()
  }

  /**
   * Takes as much of a run into use as is written, in place of those that it is merged from. The
   * young ones among those stay until it is whole: one filter stands for them all.
   */
  noteMerged({ run, sourceNos, belowWord, isWhole }: MergeProgress): void {
    const isSource = ({ runNo }: LedgerRun) => sourceNos.includes(runNo)
    const before = this.#merging.find(({ target }) => target.runNo === run.runNo)
    const runs = before?.runs ?? this.#old.filter(isSource)
    if (!isWhole && runs.length === 0) return
    // A step that failed is taken again, and what was read of the filter then is behind it.
    if (before !== undefined && belowWord < before.belowWord) return
    this.#old = this.#old.filter((old) => !isSource(old))
    this.#merging = this.#merging.filter((group) => group !== before)
    if (!isWhole) {
      this.#merging = [...this.#merging, { runs: cutOne(runs, belowWord), target: run, belowWord }]
      return
    }
    this.#old = [...this.#old, run]
    this.#young = this.#young
      .map((group) => ({ ...group, runs: group.runs.filter((young) => !isSource(young)) }))
      .filter((group) => group.runs.length > 0)
  }

  /**
   * Does what looks up events in one view of the file, which a look-up needs: the runs may be being
   * merged. It makes them cheaper by a third as well.
   */
  inOneView(work: () => void): void {
    this.#inOneView(work)
  }

  /**
   * The events that have one of the keys; to be asked in one view.
   *
   * @param keys four words each
   * @param count how many of them are asked about
   */
  findAll(keys: Uint32Array, count: number): FoundEvents {
    const found: FoundEvents = new Map()
    for (const { generation, runs } of this.#young) {
      const candidates = this.#probe.candidates(generation.filter, 0, keys, count)
      if (candidates.length === 0) continue
      this.#others.clear(candidates.length)
      for (const place of candidates) this.#others.add(keys, place)
      for (const run of runs) this.#findListed(run, this.#others, found)
    }
    for (const run of this.#old) this.#findIn(run, keys, this.#candidates(run, keys, count), found)
    for (const { runs, target, belowWord } of this.#merging) {
      this.#divide(keys, count, belowWord)
      this.#findListed(target, this.#below, found)
      for (const run of runs) this.#findListed(run, this.#others, found)
    }
    return found
  }

  #divide(keys: Uint32Array, count: number, belowWord: number): void {
    this.#below.clear(count)
    this.#others.clear(count)
    for (let place = 0; place < count; place++) {
      const isBelow = (keys[place * KEY_WORDS] ?? 0) < belowWord
      const list = isBelow ? this.#below : this.#others
      list.add(keys, place)
    }
  }

  #findListed(run: LedgerRun, list: KeyList, found: FoundEvents): void {
    const candidates = this.#candidates(run, list.words, list.count)
    if (candidates.length === 0) return
    const foundInList: FoundEvents = new Map()
    this.#findIn(run, list.words, candidates, foundInList)
    for (const [at, event] of foundInList) found.set(list.placeOf(at), event)
    if (foundInList.size > 0) list.removeFound(found)
  }

  /** The places of the keys that may be in the run. */
  #candidates(run: LedgerRun, keys: Uint32Array, count: number): number[] {
    const { filter, filterWord } = run
    if (hasQuotientFilter(run)) return this.#runProbe.candidates(run, keys, count)
    return this.#probe.candidates(filter, filterWord, keys, count)
  }

  // In the order of the keys, which is that of their blocks: those of one page are read with it.
  #findIn(run: LedgerRun, keys: Uint32Array, places: number[], found: FoundEvents): void {
    places.sort((one, other) => (keys[one * KEY_WORDS] ?? 0) - (keys[other * KEY_WORDS] ?? 0))
    for (const place of places) {
      const event = this.#lookUp.find(run, keys, place * KEY_WORDS)
      if (event !== undefined) found.set(place, event)
    }
  }

  /** The first tie-break that no sealed measurement of the sensor has at that time. */
  nextTieBreak(sensorId: SensorId, measuredAtMs: EpochMs): number {
    if (!isCovered(this.#spansOf(sensorId), measuredAtMs)) return 0
    // Covered but without a row: at most one measurement is there, and it has 0.
    return this.#tieBreak.get(sensorId, measuredAtMs) ?? 1
  }

  #spansOf(sensorId: SensorId): Float64Array {
    const cached = this.#spanCache.get(sensorId)
    if (cached !== undefined) return cached
    const stored = this.#spans.get(sensorId)
    const spans = stored === undefined ? NO_SPANS : decodeSpans(stored)
    if (this.#spanCache.size >= SPAN_CACHE_MAX) this.#spanCache.clear()
    this.#spanCache.set(sensorId, spans)
    return spans
  }
}

/** Gives back what filters know of keys below that first word: of one at a time, it is copied. */
function cutOne(runs: readonly LedgerRun[], belowWord: number): readonly LedgerRun[] {
  const place = runs.findIndex((run) => {
    const lines = linesOf(run)
    const isWorthIt = lineOf(lines, belowWord) - run.firstLine >= lines * CUT_SHARE_MIN
    return hasQuotientFilter(run) && isWorthIt
  })
  return runs.map((run, at) => (at === place ? cutBelow(run, belowWord) : run))
}

export function decodeSpans(bytes: Buffer): Float64Array {
  const spans = new Float64Array(bytes.length / 8)
  for (let at = 0; at < spans.length; at++) spans[at] = bytes.readDoubleLE(at * 8)
  return spans
}

export function encodeSpans(spans: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(spans.length * 8)
  spans.forEach((edge, at) => bytes.writeDoubleLE(edge, at * 8))
  return bytes
}
