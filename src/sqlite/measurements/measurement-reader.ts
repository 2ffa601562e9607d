// The reading side of the embedded measurement store, beside the writer and on a busy thread.
//
// A series is read in chunks, each starting after the last key of the previous one. Between chunks
// the event loop turns and no read transaction is open, so other requests are answered and the
// writer's log can be moved into the file. Windows are stored for each resolution, except those of
// 5 minutes, which are computed from minutes.

import { setImmediate } from 'node:timers/promises'
import Database from 'better-sqlite3'
import type { Statement } from 'better-sqlite3'
import { ServiceError, refusalError } from '../../domain/errors.ts'
import { foldWindows } from '../../domain/history.ts'
import type { RawPoint, SeriesRange, WindowSummary } from '../../domain/history.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, floorToWindow } from '../../domain/time.ts'
import type { MeasurementReader } from '../../ports/measurement-store.ts'
import { damagedSeries, isDamage } from '../damaged-data.ts'
import { MEASUREMENTS_FILE, openForReading } from '../database.ts'
import type { Connection } from '../database.ts'
import type { SummaryTable } from './schema.ts'

/** A chunk takes one to three milliseconds: the longest another request has to wait for it. */
const CHUNK_ROWS = 2_000

const READ_RAW = `
  SELECT measured_at_ms, tie_break_ns, temp_celsius FROM measurements
  WHERE sensor_id = ? AND (measured_at_ms, tie_break_ns) > (?, ?) AND measured_at_ms < ?
  ORDER BY measured_at_ms, tie_break_ns LIMIT ${CHUNK_ROWS}`

/** A lock or an I/O error may be gone when the reading is retried. */
const RETRY_AFTER_SECONDS = 5

const QUARTER_MS = 15 * MINUTE_MS

/** Sorts before every tie-break of a millisecond. */
const NO_TIE_BREAK = -1

type RawRow = [measuredAtMs: number, tieBreakNs: number, celsius: number]

export class SqliteMeasurementReader implements MeasurementReader {
  readonly #db: Connection
  readonly #onDamaged: (problem: string) => void
  readonly #raw: Statement<number[], RawRow>
  /** By window length. */
  readonly #stored: ReadonlyMap<number, Statement<number[], WindowSummary>>

  /**
   * Opens `file`, which its writer has already created.
   *
   * @param onDamaged is told what cannot be read
   */
  constructor(file: string, onDamaged: (problem: string) => void = () => {}) {
    this.#onDamaged = onDamaged
    this.#db = openForReading(file)
    this.#raw = this.#db.prepare<number[], RawRow>(READ_RAW).raw()
    this.#stored = new Map([
      [DAY_MS, prepareSummaries(this.#db, 'day_summaries')],
      [HOUR_MS, prepareSummaries(this.#db, 'hour_summaries')],
      [QUARTER_MS, prepareSummaries(this.#db, 'quarter_summaries')],
      [MINUTE_MS, prepareSummaries(this.#db, 'minute_summaries')],
    ])
  }

  async *readRaw(range: SeriesRange): AsyncIterable<readonly RawPoint[]> {
    let afterMs = range.startMs
    let afterTieBreakNs = NO_TIE_BREAK
    for (;;) {
      const from = [range.sensorId, afterMs, afterTieBreakNs, range.stopMs]
      const rows = this.#read(this.#raw, from)
      const last = rows.at(-1)
      if (last === undefined) return
      yield rows.map(([measuredAtMs, , rawCelsius]) => ({ measuredAtMs, rawCelsius }))
      if (rows.length < CHUNK_ROWS) return
      afterMs = last[0]
      afterTieBreakNs = last[1]
      await setImmediate()
    }
  }

  readWindows(range: SeriesRange, windowMs: number): AsyncIterable<readonly WindowSummary[]> {
    const stored = this.#stored.get(windowMs)
    if (stored !== undefined) return this.#readStored(stored, range)
    return foldWindows(this.readWindows(range, MINUTE_MS), (atMs) => floorToWindow(atMs, windowMs))
  }

  async close(): Promise<void> {
    this.#db.close()
  }

  async *#readStored(
    statement: Statement<number[], WindowSummary>,
    range: SeriesRange,
  ): AsyncIterable<readonly WindowSummary[]> {
    let { startMs } = range
    for (;;) {
      const rows = this.#read(statement, [range.sensorId, startMs, range.stopMs])
      const last = rows.at(-1)
      if (last === undefined) return
      yield rows
      if (rows.length < CHUNK_ROWS) return
      startMs = last.startMs + 1
      await setImmediate()
    }
  }

  /** @param parameters the first is the sensor's id */
  #read<Row>(statement: Statement<number[], Row>, parameters: number[]): Row[] {
    try {
      return statement.all(...parameters)
    } catch (error) {
      if (isDamage(error)) {
        const problem = damagedSeries(MEASUREMENTS_FILE, parameters[0] ?? 0)
        this.#onDamaged(problem)
        throw refusalError('data_damaged', { cause: error, hint: problem })
      }
      if (!(error instanceof Database.SqliteError)) throw error
      throw new ServiceError('history_unavailable', {
        detail: 'The measurement store cannot be read at the moment.',
        retryAfterSeconds: RETRY_AFTER_SECONDS,
        hint: `cannot read measurements: ${error.code}`,
        cause: error,
      })
    }
  }
}

function prepareSummaries(db: Connection, table: SummaryTable): Statement<number[], WindowSummary> {
  const sql = `
    SELECT start_ms AS startMs, measurement_count AS count, sum_celsius AS sum,
      min_celsius AS min, max_celsius AS max
    FROM ${table}
    WHERE sensor_id = ? AND start_ms >= ? AND start_ms < ?
    ORDER BY start_ms LIMIT ${CHUNK_ROWS}`
  return db.prepare<number[], WindowSummary>(sql)
}
