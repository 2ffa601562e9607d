// Reads the journal beside the thread that writes it: the next batch for the measurement store, the
// backlog, and whether anything of a sensor is still on its way.

import { setImmediate } from 'node:timers/promises'
import { decodeInfos } from '../sensor-infos.ts'
import { ColumnsGatherer } from '../../domain/measurement-columns.ts'
import type { MeasurementColumns } from '../../domain/measurement-columns.ts'
import { takeSensors } from '../../domain/take-sensors.ts'
import type { TimeRange } from '../../domain/time.ts'
import type { JournalBatch } from '../../ports/journal-queue.ts'
import type { SensorInfo } from '../../ports/measurement-store.ts'
import type { Connection } from '../database.ts'
import { decodeEntries } from '../journal-row.ts'

interface Row {
  seq: number
  sensorInfos: string | null
  entries: Buffer | null
}

/** All rows are written by one thread. */
const STREAM = 0

/** Rows per batch at most, however few measurements they have. */
const ROWS_PER_READ = 10_000

/** A search gives others a turn after this much. */
const BYTES_PER_SEARCH = 2 ** 20

const ROWS_AFTER = `
  SELECT seq, sensor_infos AS sensorInfos, entries FROM journal
  WHERE seq > ? ORDER BY seq LIMIT ${ROWS_PER_READ}`
const WATERMARK = 'SELECT forwarded_seq FROM journal_watermark WHERE id = 1'
const TOTALS_AFTER = `
  SELECT total(measurements) AS entries, total(length(entries)) AS bytes FROM journal
  WHERE seq > ?`
const LAST_SEQ = 'SELECT max(seq) FROM journal'
const OLDEST_AFTER = 'SELECT committed_at_ms FROM journal WHERE seq > ? ORDER BY seq LIMIT 1'

export class JournalReader {
  readonly #gatherer = new ColumnsGatherer()
  readonly #rowsAfter
  readonly #watermark
  readonly #totalsAfter
  readonly #oldestAfter
  readonly #lastSeq

  constructor(db: Connection) {
    this.#rowsAfter = db.prepare<[number], Row>(ROWS_AFTER)
    this.#watermark = db.prepare<[], number>(WATERMARK).pluck()
    this.#totalsAfter = db.prepare<[number], { entries: number; bytes: number }>(TOTALS_AFTER)
    this.#oldestAfter = db.prepare<[number], number>(OLDEST_AFTER).pluck()
    this.#lastSeq = db.prepare<[], number>(LAST_SEQ).pluck()
  }

  /** Rows up to this one were in the measurement store when the watermark was last saved. */
  forwardedSeq(): number {
    return this.#watermark.get() ?? 0
  }

  /** Number of measurements and bytes in the rows after `seq`. */
  totalsAfter(seq: number): { entries: number; bytes: number } {
    return this.#totalsAfter.get(seq) ?? { entries: 0, bytes: 0 }
  }

  /** The last row; 0 if there is none. */
  lastSeq(): number {
    return this.#lastSeq.get() ?? 0
  }

  /** When the first row after `seq` was committed. */
  oldestAfter(seq: number): number | undefined {
    return this.#oldestAfter.get(seq)
  }

  /**
   * The rows after `seq` as one batch: at least one row, and at most `measurementsMax` measurements
   * unless the first row alone has more. Valid until the next call.
   */
  readBatch(seq: number, measurementsMax: number): JournalBatch | undefined {
    const parts: MeasurementColumns[] = []
    const sensorInfos: SensorInfo[] = []
    let count = 0
    let throughSeq = seq
    for (const row of this.#rowsAfter.iterate(seq)) {
      if (row.entries !== null) {
        const columns = decodeEntries(row.entries)
        if (count > 0 && count + columns.count > measurementsMax) break
        parts.push(columns)
        count += columns.count
      }
      sensorInfos.push(...decodeInfos(row.sensorInfos))
      throughSeq = row.seq
    }
    if (throughSeq === seq) return undefined
    return {
      place: { stream: STREAM, seq: throughSeq },
      measurements: this.#gatherer.gather(parts),
      sensorInfos,
    }
  }

  /** Those of the sensors with measurements of the range in the rows (afterSeq, throughSeq]. */
  async *findSensors(
    rows: { readonly afterSeq: number; readonly throughSeq: number },
    sensorIds: ReadonlySet<number>,
    range: TimeRange,
  ): AsyncIterable<number> {
    const wanted = new Set(sensorIds)
    for (let { afterSeq } = rows; afterSeq < rows.throughSeq && wanted.size > 0;) {
      const found: number[] = []
      const fromSeq = afterSeq
      let bytes = 0
      for (const { seq, entries } of this.#rowsAfter.iterate(afterSeq)) {
        afterSeq = seq
        if (entries === null) continue
        found.push(...takeSensors(decodeEntries(entries), wanted, range))
        bytes += entries.length
        if (bytes > BYTES_PER_SEARCH) break
      }
      yield* found
      if (afterSeq === fromSeq) return
      await setImmediate()
    }
  }
}
