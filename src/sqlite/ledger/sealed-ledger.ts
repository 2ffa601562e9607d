// Reading the sealed part of the ledger: which run may hold a key, and what is under it. The
// filters are in memory; a key that no filter knows costs no disk access.

import type { SensorId } from '../../domain/sensor.ts'
import type { EpochMs } from '../../domain/time.ts'
import type { Connection } from '../database.ts'
import type { StoredEvent } from './hot-ledger.ts'
import { FilterProbe, mayContain } from './key-filter.ts'
import { EventLookUp } from './event-look-up.ts'
import type { LedgerRun, Merge, SealedRun, StoredRuns } from './ledger-run.ts'
import { mayBeIn, QUOTIENT_FILTER, RunFilterProbe } from './run-filter.ts'
import type { RunGeneration } from './run-generation.ts'
import { isCovered } from './time-spans.ts'

/** Runs that are asked together; those without a generation always first. */
interface RunGroup {
  readonly generation: RunGeneration | undefined
  readonly runs: readonly LedgerRun[]
}

/** Sensors whose spans are kept in memory. */
const SPAN_CACHE_MAX = 50_000

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
  readonly #spanCache = new Map<SensorId, Float64Array>()
  #groups: readonly RunGroup[]
  /** Every journal row up to this one is sealed. */
  sealedSeq: number

  constructor(db: Connection, { young, generation, old }: StoredRuns) {
    this.#inOneView = db.transaction((work: () => void) => work())
    this.#lookUp = new EventLookUp(db)
    this.#spans = db.prepare<[number], Buffer>(SPANS).pluck()
    this.#tieBreak = db.prepare<[number, number], number>(TIE_BREAK).pluck()
    this.#groups = [
      { generation: undefined, runs: old },
      { generation, runs: young },
    ]
    this.sealedSeq = db.prepare<[], number>(SEALED_SEQ).pluck().get() ?? 0
  }

  get events(): number {
    const runs = this.#groups.flatMap((group) => group.runs)
    return runs.reduce((sum, run) => sum + run.events, 0)
  }

  /** Takes a run that was just sealed into use. */
  addRun({ run, generation }: SealedRun): void {
    const isKnown = this.#groups.some((group) => group.generation?.no === generation.no)
    const groups = isKnown ? this.#groups : [...this.#groups, { generation, runs: [] }]
    this.#groups = groups.map((group) =>
      group.generation?.no === generation.no ? { ...group, runs: [...group.runs, run] } : group,
    )
    this.#spanCache.clear()
  }

  /** Takes a run into use in place of those that it was merged from. */
  replaceRuns({ run, replacedRunNos }: Merge): void {
    const left = this.#groups.map(({ generation, runs }) => {
      const kept = runs.filter(({ runNo }) => !replacedRunNos.includes(runNo))
      return { generation, runs: generation === undefined ? [...kept, run] : kept }
    })
    this.#groups = left.filter((group) => group.runs.length > 0)
  }

  /**
   * Does what looks up events in one view of the file, which a look-up needs: the runs may be being
   * merged. It makes them cheaper by a third as well.
   */
  inOneView(work: () => void): void {
    this.#inOneView(work)
  }

  /** Marks the keys that `find` has to be asked about; none of the others is sealed. */
  mark(keys: Uint32Array, marks: Uint8Array): void {
    for (const { generation, runs } of this.#groups) {
      if (generation !== undefined) this.#probe.mark(generation.filter, 0, keys, marks)
      else for (const run of runs) this.#markIn(run, keys, marks)
    }
  }

  #markIn({ filter, filterWord }: LedgerRun, keys: Uint32Array, marks: Uint8Array): void {
    if (filterWord === QUOTIENT_FILTER) this.#runProbe.mark(filter, keys, marks)
    else this.#probe.mark(filter, filterWord, keys, marks)
  }

  /** The event with the key at `offset`; to be asked in one view. */
  find(words: Uint32Array, offset: number): StoredEvent | undefined {
    const w0 = words[offset] ?? 0
    const w1 = words[offset + 1] ?? 0
    const w2 = words[offset + 2] ?? 0
    for (const { generation, runs } of this.#groups) {
      if (generation !== undefined && !mayContain(generation.filter, w0, w1, w2)) continue
      for (const run of runs) {
        if (!mayBeIn(run, words, offset)) continue
        const event = this.#lookUp.find(run, words, offset)
        if (event !== undefined) return event
      }
    }
    return undefined
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
