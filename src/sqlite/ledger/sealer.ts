// Sealing a stretch of the journal: its events are written to ledger.db as one run, together with
// where in time they lie, the tie-breaks they used up and the mark up to which the journal is
// sealed: one transaction. A crash before its end leaves nothing; the same stretch is sealed again.

import { assert } from '../../domain/errors.ts'
import type { Connection } from '../database.ts'
import { ColumnsGatherer, copyColumns, decodeEntries } from '../journal/journal-row.ts'
import type { JournalColumns } from '../journal/journal-row.ts'
import { KEY_WORDS } from './event-key.ts'
import { hasKey } from './hot-ledger.ts'
import { addToFilter } from './key-filter.ts'
import type { SealRequest } from './ledger.ts'
import type { LedgerRun, SealedRun } from './ledger-run.ts'
import { blockOf, EVENT_BYTES, packEvent } from './run-block.ts'
import { Generations } from './run-generation.ts'
import type { RunGeneration } from './run-generation.ts'
import { planRun, RunWriter } from './run-writer.ts'
import { decodeSpans, encodeSpans } from './sealed-ledger.ts'
import { cover } from './time-spans.ts'

/** Blocks whose keys are put into the filter at once. */
const BLOCKS_PER_STRETCH = 256

const STRETCH = 'FROM journal WHERE seq > ? AND seq <= ? AND measurements > 0 AND is_repeated = 0'
const COUNT = `SELECT total(measurements) ${STRETCH}`
const ROWS = `SELECT entries ${STRETCH} ORDER BY seq`
const SET_SEALED = 'UPDATE sealed SET seq = ? WHERE id = 1'
const SPANS = 'SELECT spans FROM time_spans WHERE sensor_id = ?'
const SET_SPANS = `
  INSERT INTO time_spans (sensor_id, spans) VALUES (?, ?)
  ON CONFLICT (sensor_id) DO UPDATE SET spans = excluded.spans`
const SET_TIE_BREAK = `
  INSERT INTO tie_breaks (sensor_id, measured_at_ms, next_ns) VALUES (?, ?, ?)
  ON CONFLICT (sensor_id, measured_at_ms) DO UPDATE SET next_ns = max(next_ns, excluded.next_ns)`

export class Sealer {
  readonly #ledger: Connection
  readonly #generations: Generations
  readonly #gatherer = new ColumnsGatherer()
  readonly #count
  readonly #journalRows
  readonly #setSealed
  readonly #spans
  readonly #setSpans
  readonly #setTieBreak

  /**
   * @param control reads the journal
   * @param ledger the only writer of ledger.db
   * @param epochEvents events of a stretch at most
   */
  constructor(control: Connection, ledger: Connection, epochEvents: number) {
    this.#ledger = ledger
    this.#generations = new Generations(epochEvents)
    this.#count = control.prepare<[number, number], number>(COUNT).pluck()
    this.#journalRows = control.prepare<[number, number], Buffer>(ROWS).pluck()
    this.#setSealed = ledger.prepare<[number]>(SET_SEALED)
    this.#spans = ledger.prepare<[number], Buffer>(SPANS).pluck()
    this.#setSpans = ledger.prepare<[number, Buffer]>(SET_SPANS)
    this.#setTieBreak = ledger.prepare<[number, number, number]>(SET_TIE_BREAK)
  }

  /** Seals a stretch; durable when it returns. */
  seal(request: SealRequest): SealedRun {
    const events = this.#read(request)
    const generation = this.#generations.next()
    const seal = this.#ledger.transaction(() => {
      const run = this.#writeRun(events, generation)
      this.#writeTimes(events)
      this.#setSealed.run(request.throughSeq)
      return run
    })
    return { run: seal.immediate(), generation }
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

  #writeRun(events: JournalColumns, { filter }: RunGeneration): LedgerRun {
    const keyed = keyedEvents(events)
    const writer = new RunWriter(this.#ledger, planRun(this.#ledger, 0, keyed.length))
    const { run } = writer
    const { order, stops } = groupByBlock(keyed, events, run.blocks)
    let start = 0
    for (let block = 0; block < run.blocks; block++) {
      const stop = stops[block] ?? 0
      const bytes = Buffer.allocUnsafe((stop - start) * EVENT_BYTES)
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
      for (let place = start; place < stop; place++) {
        const event = order[place] ?? 0
        const keyAt = event * KEY_WORDS
        const w0 = events.keys[keyAt] ?? 0
        const w1 = events.keys[keyAt + 1] ?? 0
        const w2 = events.keys[keyAt + 2] ?? 0
        writer.know(w0, w1, w2)
        addToFilter(filter, w0, w1, w2)
        packEvent(events, event, view, (place - start) * EVENT_BYTES)
      }
      if (stop > start) writer.write(block, bytes)
      if (block % BLOCKS_PER_STRETCH === 0) writer.finishKeysBefore(block)
      start = stop
    }
    writer.putIntoUse()
    return run
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

/** Places of the events that have an event id. */
function keyedEvents({ count, keys }: JournalColumns): Uint32Array {
  const keyed = new Uint32Array(count)
  let found = 0
  for (let at = 0; at < count; at++) if (hasKey(keys, at * KEY_WORDS)) keyed[found++] = at
  return keyed.subarray(0, found)
}

/** The same places block by block, and for each block where in them it stops. */
function groupByBlock(
  keyed: Uint32Array,
  { keys }: JournalColumns,
  blocks: number,
): { order: Uint32Array; stops: Uint32Array } {
  const blockOfEvent = keyed.map((at) => blockOf(keys[at * KEY_WORDS] ?? 0, blocks))
  const next = new Uint32Array(blocks)
  for (const block of blockOfEvent) next[block] = (next[block] ?? 0) + 1
  let sum = 0
  next.forEach((count, block) => {
    next[block] = sum
    sum += count
  })
  const order = new Uint32Array(keyed.length)
  keyed.forEach((at, place) => {
    const block = blockOfEvent[place] ?? 0
    const target = next[block] ?? 0
    order[target] = at
    next[block] = target + 1
  })
  return { order, stops: next }
}
