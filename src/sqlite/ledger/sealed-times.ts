// Which times of a sensor the sealed part of the ledger has: the next tie-break follows from it.

import { decodeSpans, isCovered } from '../../domain/time-spans.ts'
import { inOneViewOf, LEDGER_FILE, orDamaged } from '../database.ts'
import type { Connection, InOneView } from '../database.ts'

/** Sensors whose spans are kept in memory. */
const SPAN_CACHE_MAX = 50_000

const SPANS = 'SELECT spans FROM time_spans WHERE sensor_id = ?'
const TIE_BREAK = 'SELECT next_ns FROM tie_breaks WHERE sensor_id = ? AND measured_at_ms = ?'

const NO_SPANS = new Float64Array(0)

export class SealedTimes {
  readonly inOneView: InOneView
  readonly #spans
  readonly #tieBreak
  readonly #spanCache = new Map<number, Float64Array>()

  constructor(db: Connection) {
    this.inOneView = inOneViewOf(db)
    this.#spans = db.prepare<[number], Buffer>(SPANS).pluck()
    this.#tieBreak = db.prepare<[number, number], number>(TIE_BREAK).pluck()
  }

  /** What was asked for before is out of date. */
  noteSealed(): void {
    this.#spanCache.clear()
  }

  /**
   * The first tie-break that no sealed measurement of the sensor has at that time.
   *
   * @throws DamagedData
   */
  nextTieBreak(sensorId: number, measuredAtMs: number): number {
    return orDamaged(`what ${LEDGER_FILE} knows of the times of sensors is damaged`, () => {
      if (!isCovered(this.#spansOf(sensorId), measuredAtMs)) return 0
      // Covered but without a row: at most one measurement is there, and it has 0.
      return this.#tieBreak.get(sensorId, measuredAtMs) ?? 1
    })
  }

  #spansOf(sensorId: number): Float64Array {
    const cached = this.#spanCache.get(sensorId)
    if (cached !== undefined) return cached
    const stored = this.#spans.get(sensorId)
    const spans = stored === undefined ? NO_SPANS : decodeSpans(stored)
    if (this.#spanCache.size >= SPAN_CACHE_MAX) this.#spanCache.clear()
    this.#spanCache.set(sensorId, spans)
    return spans
  }
}
