// Reading the sealed part of the ledger: which run may hold a key, and what is under it. The
// filters are in memory; a key that no filter knows costs no disk access.

import type { SensorId } from '../../domain/sensor.ts'
import type { EpochMs } from '../../domain/time.ts'
import type { Connection } from '../database.ts'
import { blockOf, findInBlock, RUN_STRIDE } from './run-block.ts'
import type { StoredEvent } from './hot-ledger.ts'
import { mayContain } from './key-filter.ts'
import { isCovered } from './time-spans.ts'

/** A run in use. */
export interface LedgerRun {
  readonly runNo: number
  readonly events: number
  readonly blocks: number
  readonly filter: Uint32Array
}

/** Sensors whose spans are kept in memory. */
const SPAN_CACHE_MAX = 50_000

const LIVE_RUNS = `
  SELECT run_no, events, blocks, filter FROM runs WHERE state = 1 ORDER BY run_no`
const SEALED_SEQ = 'SELECT seq FROM sealed WHERE id = 1'
const BLOCK = 'SELECT entries FROM blocks WHERE id = ?'
const SPANS = 'SELECT spans FROM time_spans WHERE sensor_id = ?'
const TIE_BREAK = 'SELECT next_ns FROM tie_breaks WHERE sensor_id = ? AND measured_at_ms = ?'

const NO_SPANS = new Float64Array(0)

export class SealedLedger {
  readonly #inOneView
  readonly #block
  readonly #spans
  readonly #tieBreak
  readonly #spanCache = new Map<SensorId, Float64Array>()
  #runs: readonly LedgerRun[]
  /** Every journal row up to this one is sealed. */
  sealedSeq: number

  constructor(db: Connection) {
    this.#inOneView = db.transaction((work: () => void) => work())
    this.#block = db.prepare<[number], Buffer>(BLOCK).pluck()
    this.#spans = db.prepare<[number], Buffer>(SPANS).pluck()
    this.#tieBreak = db.prepare<[number, number], number>(TIE_BREAK).pluck()
    this.#runs = db
      .prepare<[], { run_no: number; events: number; blocks: number; filter: Buffer }>(LIVE_RUNS)
      .all()
      .map(({ run_no, events, blocks, filter }) => ({
        runNo: run_no,
        events,
        blocks,
        filter: new Uint32Array(filter.buffer, filter.byteOffset, filter.byteLength / 4),
      }))
    this.sealedSeq = db.prepare<[], number>(SEALED_SEQ).pluck().get() ?? 0
  }

  get events(): number {
    return this.#runs.reduce((sum, run) => sum + run.events, 0)
  }

  /** Takes `added` into use in place of the runs it was merged from. */
  replaceRuns(added: LedgerRun, replacedRunNos: readonly number[]): void {
    this.#runs = [...this.#runs.filter((run) => !replacedRunNos.includes(run.runNo)), added]
    this.#spanCache.clear()
  }

  /** Does what looks up much in one view of the file: that makes a look-up cheaper by a third. */
  inOneView(work: () => void): void {
    this.#inOneView(work)
  }

  find(words: Uint32Array, offset: number): StoredEvent | undefined {
    for (const run of this.#runs) {
      if (!mayContain(run.filter, words, offset)) continue
      const blockNo = blockOf(words[offset] ?? 0, run.blocks)
      const block = this.#block.get(run.runNo * RUN_STRIDE + blockNo)
      const event = block && findInBlock(block, words, offset)
      if (event !== undefined) return event
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
