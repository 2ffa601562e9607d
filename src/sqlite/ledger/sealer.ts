// Sealing a stretch of the journal: its events are sorted by key and written to ledger.db as one
// run, together with where in time they lie, the tie-breaks they used up and the mark up to which
// the journal is sealed: one transaction. A crash before its end leaves nothing; the same stretch
// is sealed again.

import { assert } from '../../domain/errors.ts'
import type { Connection } from '../database.ts'
import { ColumnsGatherer, copyColumns, decodeEntries } from '../journal/journal-row.ts'
import type { JournalColumns } from '../journal/journal-row.ts'
import { KEY_WORDS } from './event-key.ts'
import { hasKey } from './hot-ledger.ts'
import type { SealRequest } from './ledger.ts'
import { RunWriter } from './run-writer.ts'
import { decodeSpans, encodeSpans } from './sealed-ledger.ts'
import type { LedgerRun } from './sealed-ledger.ts'
import { cover } from './time-spans.ts'

const STRETCH = 'FROM journal WHERE seq > ? AND seq <= ? AND measurements > 0 AND is_repeated = 0'
const COUNT = `SELECT total(measurements) ${STRETCH}`
const ROWS = `SELECT entries ${STRETCH} ORDER BY seq`
const PUT_INTO_USE = 'UPDATE runs SET state = 1, filter = ? WHERE run_no = ?'
const SET_SEALED = 'UPDATE sealed SET seq = ? WHERE id = 1'
const SPANS = 'SELECT spans FROM time_spans WHERE sensor_id = ?'
const SET_SPANS = `
  INSERT INTO time_spans (sensor_id, spans) VALUES (?, ?)
  ON CONFLICT (sensor_id) DO UPDATE SET spans = excluded.spans`
const SET_TIE_BREAK = `
  INSERT INTO tie_breaks (sensor_id, measured_at_ms, next_ns) VALUES (?, ?, ?)
  ON CONFLICT (sensor_id, measured_at_ms) DO UPDATE SET next_ns = max(next_ns, excluded.next_ns)`

/** First key word * ORDER_STRIDE + position: both together stay exact in a double. */
const ORDER_STRIDE = 2 ** 21

export class Sealer {
  readonly #ledger: Connection
  readonly #gatherer = new ColumnsGatherer()
  readonly #count
  readonly #journalRows
  readonly #putIntoUse
  readonly #setSealed
  readonly #spans
  readonly #setSpans
  readonly #setTieBreak

  /** @param control reads the journal; @param ledger the only writer of ledger.db */
  constructor(control: Connection, ledger: Connection) {
    this.#ledger = ledger
    this.#count = control.prepare<[number, number], number>(COUNT).pluck()
    this.#journalRows = control.prepare<[number, number], Buffer>(ROWS).pluck()
    this.#putIntoUse = ledger.prepare<[Buffer, number]>(PUT_INTO_USE)
    this.#setSealed = ledger.prepare<[number]>(SET_SEALED)
    this.#spans = ledger.prepare<[number], Buffer>(SPANS).pluck()
    this.#setSpans = ledger.prepare<[number, Buffer]>(SET_SPANS)
    this.#setTieBreak = ledger.prepare<[number, number, number]>(SET_TIE_BREAK)
  }

  /** Seals a stretch; durable when it returns. */
  seal(request: SealRequest): LedgerRun {
    const events = this.#read(request)
    return this.#ledger
      .transaction(() => {
        const run = this.#writeRun(events)
        this.#writeTimes(events)
        this.#setSealed.run(request.throughSeq)
        return run
      })
      .immediate()
  }

  // Row by row into one set of columns: a stretch may have as many rows as events.
  #read({ afterSeq, throughSeq }: SealRequest): JournalColumns {
    const count = this.#count.get(afterSeq, throughSeq) ?? 0
    const events = this.#gatherer.columns(count)
    let at = 0
    for (const entries of this.#journalRows.iterate(afterSeq, throughSeq)) {
      at += copyColumns(decodeEntries(entries), events, at)
    }
    assert(at === count, `a stretch of ${count} measurements has ${at}`)
    return events
  }

  #writeRun(events: JournalColumns): LedgerRun {
    const order = orderByKey(events)
    const writer = new RunWriter(this.#ledger, 0, order.length)
    for (const place of order) {
      const at = place % ORDER_STRIDE
      writer.add({
        keys: events.keys,
        keyOffset: at * KEY_WORDS,
        sensorId: events.sensorId[at] ?? 0,
        measuredAtMs: events.measuredAtMs[at] ?? 0,
        tempCelsius: events.tempCelsius[at] ?? 0,
      })
    }
    writer.finish()
    this.#putIntoUse.run(Buffer.from(writer.filter.buffer), writer.runNo)
    const { runNo, blocks, filter } = writer
    return { runNo, events: order.length, blocks, filter }
  }

  #writeTimes(events: JournalColumns): void {
    const spansOf = new Map<number, number[]>()
    for (let at = 0; at < events.count; at++) {
      const sensorId = events.sensorId[at] ?? 0
      const measuredAtMs = events.measuredAtMs[at] ?? 0
      const tieBreakNs = events.tieBreakNs[at] ?? 0
      let spans = spansOf.get(sensorId)
      if (spans === undefined) {
        const stored = this.#spans.get(sensorId)
        spans = stored === undefined ? [] : [...decodeSpans(stored)]
        spansOf.set(sensorId, spans)
      }
      cover(spans, measuredAtMs)
      if (tieBreakNs > 0) this.#setTieBreak.run(sensorId, measuredAtMs, tieBreakNs + 1)
    }
    for (const [sensorId, spans] of spansOf) this.#setSpans.run(sensorId, encodeSpans(spans))
  }
}

// Sorting doubles natively is several times faster than sorting with a comparison in JavaScript.
function orderByKey(events: JournalColumns): Float64Array {
  assert(events.count < ORDER_STRIDE, `a run of ${events.count} events cannot be sorted at once`)
  const order = new Float64Array(events.count)
  let keyed = 0
  for (let at = 0; at < events.count; at++) {
    if (!hasKey(events.keys, at * KEY_WORDS)) continue
    order[keyed++] = (events.keys[at * KEY_WORDS] ?? 0) * ORDER_STRIDE + at
  }
  return order.subarray(0, keyed).sort()
}
