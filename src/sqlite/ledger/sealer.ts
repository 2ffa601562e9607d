// Sealing a stretch of the journal: its events are written to ledger.db as one run, together with
// where in time they lie, the tie-breaks they used up and the mark up to which the journal is
// sealed: one transaction. A crash before its end leaves nothing; the same stretch is sealed again.

import { giveBack } from '../../bytes/give-back.ts'
import { cover, decodeSpans, encodeSpans } from '../../domain/time-spans.ts'
import type { TimeSpans } from '../../domain/time-spans.ts'
import type { Connection } from '../database.ts'
import { decodeEntries } from '../journal-row.ts'
import type { JournalColumns } from '../journal-row.ts'
import { BlockShuffle } from './block-shuffle.ts'
import { BlockStore } from './block-store.ts'
import type { SealRequest } from './ledger.ts'
import { blocksFor, EventPacker, SEGMENTS } from './ledger-run.ts'
import type { RunGeneration, SealedRun, YoungRun } from './ledger-run.ts'
import { addEvents, Generations, newOwnFilter } from './run-generation.ts'

const ROWS = `
  SELECT entries FROM journal
  WHERE seq > ? AND seq <= ? AND entries IS NOT NULL AND is_repeated = 0 ORDER BY seq`
const INSERT_RUN = `
  INSERT INTO runs (events, blocks, segments_written) VALUES (?, ?, ${SEGMENTS})`
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
  readonly #packer = new EventPacker()
  readonly #shuffle = new BlockShuffle()
  readonly #blocks: BlockStore
  readonly #insertRun
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
    this.#blocks = new BlockStore(ledger)
    this.#insertRun = ledger.prepare<[number, number]>(INSERT_RUN)
    this.#journalRows = control.prepare<[number, number], Buffer>(ROWS).pluck()
    this.#setSealed = ledger.prepare<[number]>(SET_SEALED)
    this.#spans = ledger.prepare<[number], Buffer>(SPANS).pluck()
    this.#setSpans = ledger.prepare<[number, Buffer]>(SET_SPANS)
    this.#setTieBreak = ledger.prepare<[number, number, number]>(SET_TIE_BREAK)
  }

  /** Seals a stretch; durable when it returns. */
  seal(request: SealRequest): SealedRun {
    const generation = this.#generations.next()
    const seal = this.#ledger.transaction(() => {
      this.#readStretch(request)
      const run = this.#writeRun(generation)
      this.#setSealed.run(request.throughSeq)
      return run
    })
    return { run: seal.immediate(), generation }
  }

  // Row by row: a stretch may have as many rows as events.
  #readStretch({ afterSeq, throughSeq }: SealRequest): void {
    this.#shuffle.clear()
    const spansOf = new Map<number, TimeSpans>()
    for (const entries of this.#journalRows.iterate(afterSeq, throughSeq)) {
      const events = decodeEntries(entries)
      this.#shuffle.gather(this.#packer.pack(events))
      this.#noteTimes(events, spansOf)
      giveBack(entries)
    }
    for (const [sensorId, spans] of spansOf) this.#setSpans.run(sensorId, encodeSpans(spans))
  }

  #writeRun(generation: RunGeneration): YoungRun {
    const { events } = this.#shuffle
    const blocks = blocksFor(events)
    const { lastInsertRowid } = this.#insertRun.run(events, blocks)
    const runNo = Number(lastInsertRowid)
    const run = { runNo, events, blocks, filter: newOwnFilter(events), movedBelow: 0 }
    const arranged = this.#shuffle.arrange(run, 0, SEGMENTS)
    this.#blocks.write(run, 0, arranged)
    addEvents(generation, run, arranged.entries)
    return run
  }

  #noteTimes(events: JournalColumns, spansOf: Map<number, TimeSpans>): void {
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
  }
}
