// Checks that no new measurement can get the tie-break of a stored one and thereby overwrite it:
// measurements are told apart by sensor, millisecond and tie-break. The next tie-break of a time
// comes from the journal if it has an unsealed measurement of that time, otherwise from the ledger,
// and must be above every one stored for that time.
//
// All of these grow meanwhile. A stored measurement is in the journal until it is sealed, so
// control.db is read after the store, and ledger.db after that: it has whatever has left the
// journal by then.

import { decodeSpans, isCovered } from '../../domain/time-spans.ts'
import { describeTaken, RESTORE_BACKUP } from '../../domain/finding.ts'
import type { Report } from '../../domain/finding.ts'
import type { TimeRange } from '../../domain/time.ts'
import { LEDGER_FILE } from '../database.ts'
import type { Connection } from '../database.ts'
import { decodeEntries } from '../journal-row.ts'

const ROWS_AT_ONCE = 10_000

/** Unsealed measurements look suspicious at first; the journal is read once for this many. */
const SUSPECTS_MAX = 50_000

const NEXT_LIVE = `
  SELECT id FROM sensors WHERE deleted_at_ms IS NULL AND id > ? ORDER BY id LIMIT 1`
const SPANS = 'SELECT spans FROM time_spans WHERE sensor_id = ?'
const NEXT_NS = 'SELECT next_ns FROM tie_breaks WHERE sensor_id = ? AND measured_at_ms = ?'
const SEALED = 'SELECT seq FROM sealed WHERE id = 1'
const UNSEALED_ROWS = `
  SELECT entries FROM journal WHERE seq > ? AND measurements > 0 AND is_repeated = 0`
const PART = `
  SELECT count(*) AS measurements, max(measured_at_ms) AS lastMs FROM (
    SELECT measured_at_ms FROM measurements
    WHERE sensor_id = :sensorId AND measured_at_ms >= :startMs AND measured_at_ms < :stopMs
    ORDER BY measured_at_ms LIMIT ${ROWS_AT_ONCE})`
const TAKEN = `
  SELECT measured_at_ms AS measuredAtMs, max(tie_break_ns) AS tieBreakNs FROM measurements
  WHERE sensor_id = :sensorId AND measured_at_ms >= :startMs AND measured_at_ms <= :lastMs
    AND tie_break_ns >= :nextNs
  GROUP BY measured_at_ms`

/** A period inside one of a sensor's spans, or between two. */
interface Stretch extends TimeRange {
  /** The next tie-break of a time without a row of its own: 1 inside spans, otherwise 0. */
  readonly nextNs: number
}

/** The highest tie-break stored for a time. */
interface TakenTime {
  readonly measuredAtMs: number
  readonly tieBreakNs: number
}

interface Wrong {
  readonly firstMs: number
  times: number
}

interface SensorRange extends TimeRange {
  readonly sensorId: number
}

type Taking = Omit<SensorRange, 'stopMs'> & { readonly lastMs: number; readonly nextNs: number }

export class TieBreakCheck {
  readonly #control: Connection
  readonly #ledger: Connection
  readonly #spans
  readonly #nextNs
  readonly #part
  readonly #taken
  /** The tie-break that could be given again, by sensor and time. */
  readonly #suspects = new Map<number, Map<number, number>>()
  #suspectsCount = 0
  readonly #wrong = new Map<number, Wrong>()

  constructor(files: { control: Connection; ledger: Connection; measurements: Connection }) {
    const { control, ledger, measurements } = files
    this.#control = control
    this.#ledger = ledger
    this.#spans = ledger.prepare<[number], Buffer>(SPANS).pluck()
    this.#nextNs = ledger.prepare<[number, number], number>(NEXT_NS).pluck()
    this.#part = measurements.prepare<
      [SensorRange],
      { measurements: number; lastMs: number | null }
    >(PART)
    this.#taken = measurements.prepare<[Taking], TakenTime>(TAKEN)
  }

  /** Checks the measurements of all live sensors; yields how many since the last yield. */
  *check(report: Report): Generator<number> {
    const nextLive = this.#control.prepare<[number], number>(NEXT_LIVE).pluck()
    for (let id = nextLive.get(0); id !== undefined; id = nextLive.get(id)) {
      for (const stretch of stretchesOf(this.#spansOf(id))) yield* this.#look(id, stretch)
    }
    this.#settle()
    for (const [sensorId, { firstMs, times }] of this.#wrong) {
      const taken = describeTaken(firstMs, times)
      report({ ...taken, where: LEDGER_FILE, sensorId, remedy: RESTORE_BACKUP })
    }
  }

  *#look(sensorId: number, { nextNs, ...range }: Stretch): Generator<number> {
    let { startMs } = range
    for (;;) {
      const part = this.#part.get({ ...range, sensorId, startMs })
      const lastMs = part?.lastMs ?? undefined
      if (part === undefined || lastMs === undefined) return
      for (const taken of this.#taken.all({ sensorId, startMs, lastMs, nextNs })) {
        const isWithin = nextNs > 0
        const freeNs = isWithin ? this.#nextWithin(sensorId, taken.measuredAtMs) : 0
        if (freeNs <= taken.tieBreakNs) this.#suspect(sensorId, taken)
      }
      if (this.#suspectsCount >= SUSPECTS_MAX) this.#settle()
      yield part.measurements
      startMs = lastMs + 1
    }
  }

  /** The next tie-break from the ledger, inside a sensor's spans. */
  #nextWithin(sensorId: number, measuredAtMs: number): number {
    return this.#nextNs.get(sensorId, measuredAtMs) ?? 1
  }

  #spansOf(sensorId: number): Float64Array {
    const stored = this.#spans.get(sensorId)
    return stored === undefined ? new Float64Array(0) : decodeSpans(stored)
  }

  #suspect(sensorId: number, { measuredAtMs, tieBreakNs }: TakenTime): void {
    const times = this.#suspects.get(sensorId) ?? new Map<number, number>()
    this.#suspects.set(sensorId, times.set(measuredAtMs, tieBreakNs))
    this.#suspectsCount++
  }

  /** What neither the ledger nor the journal knows is wrong. */
  #settle(): void {
    this.#control.transaction(() => {
      // The first read begins the view of control.db.
      const unsealed = this.#control.prepare<[number], Buffer>(UNSEALED_ROWS).pluck()
      unsealed.get(0)
      const sealedSeq = this.#ledger.transaction(() => this.#dropSealed())()
      for (const entries of unsealed.iterate(sealedSeq)) this.#dropUnsealed(entries)
    })()
    for (const [sensorId, times] of this.#suspects) {
      if (times.size > 0) this.#note(sensorId, times)
    }
    this.#suspects.clear()
    this.#suspectsCount = 0
  }

  /** @returns the mark up to which the journal is sealed */
  #dropSealed(): number {
    for (const [sensorId, times] of this.#suspects) {
      const spans = this.#spansOf(sensorId)
      for (const [measuredAtMs, tieBreakNs] of times) {
        const isWithin = isCovered(spans, measuredAtMs)
        const freeNs = isWithin ? this.#nextWithin(sensorId, measuredAtMs) : 0
        if (freeNs > tieBreakNs) times.delete(measuredAtMs)
      }
    }
    return this.#ledger.prepare<[], number>(SEALED).pluck().get() ?? 0
  }

  #dropUnsealed(entries: Buffer): void {
    const { count, sensorId, measuredAtMs, tieBreakNs } = decodeEntries(entries)
    for (let at = 0; at < count; at++) {
      const times = this.#suspects.get(sensorId[at] ?? 0)
      const atMs = measuredAtMs[at] ?? 0
      const taken = times?.get(atMs)
      if (taken !== undefined && taken <= (tieBreakNs[at] ?? 0)) times?.delete(atMs)
    }
  }

  #note(sensorId: number, times: ReadonlyMap<number, number>): void {
    const [firstMs = 0] = times.keys()
    const wrong = this.#wrong.get(sensorId) ?? { firstMs, times: 0 }
    wrong.times += times.size
    this.#wrong.set(sensorId, wrong)
  }
}

/** All of time, cut at the ends of the spans. */
function stretchesOf(spans: Float64Array): Stretch[] {
  const stretches: Stretch[] = []
  let startMs = -Infinity
  for (let at = 0; at < spans.length; at += 2) {
    const [fromMs = 0, toMs = 0] = spans.subarray(at, at + 2)
    stretches.push({ startMs, stopMs: fromMs, nextNs: 0 })
    stretches.push({ startMs: fromMs, stopMs: toMs + 1, nextNs: 1 })
    startMs = toMs + 1
  }
  return [...stretches, { startMs, stopMs: Infinity, nextNs: 0 }]
}
