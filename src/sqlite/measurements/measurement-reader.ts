// The reading side of the embedded measurement store, beside the writer and on a busy thread.
//
// Series are read one after another, each in chunks that start after the last key of the previous
// one. Between chunks no read transaction is open, and the event loop turns every few milliseconds,
// so other requests are answered and the writer's log can be moved into the file. Windows are
// stored for each resolution, except those of 5 minutes, which are computed from minutes.

import { setImmediate } from 'node:timers/promises'
import { ServiceError, postponedError } from '../../domain/errors.ts'
import { foldWindows } from '../../domain/history.ts'
import type { Selector, SeriesRange, StoredPoint, WindowSummary } from '../../domain/history.ts'
import { stretchesOf } from '../../domain/stretches.ts'
import { summarize } from '../../domain/summarize.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, floorToWindow } from '../../domain/time.ts'
import type { TimeRange } from '../../domain/time.ts'
import type { MeasurementReader } from '../../ports/measurement-store.ts'
import { codeOf, damagedSeries, isDamage, MEASUREMENTS_FILE, openForReading } from '../database.ts'
import type { Connection } from '../database.ts'
import type { SummaryTable } from './schema.ts'

/** A chunk takes one to three milliseconds. */
const CHUNK_ROWS = 2_000

const READ_RAW = `
  SELECT measured_at_ms, tie_break_ns, temp_celsius FROM measurements
  WHERE sensor_id = ? AND (measured_at_ms, tie_break_ns) > (?, ?) AND measured_at_ms < ?
  ORDER BY measured_at_ms, tie_break_ns LIMIT ${CHUNK_ROWS}`

const endBy = (direction: 'ASC' | 'DESC') => `
  SELECT measured_at_ms, tie_break_ns, temp_celsius FROM measurements
  WHERE sensor_id = ? AND measured_at_ms >= ? AND measured_at_ms < ?
  ORDER BY measured_at_ms ${direction}, tie_break_ns ${direction} LIMIT 1`

/** The window that has the lowest or highest measurement of some. */
const windowBy = (table: SummaryTable, value: string, order: 'ASC' | 'DESC') => `
  SELECT start_ms, ${value} FROM ${table}
  WHERE sensor_id = ? AND start_ms >= ? AND start_ms < ?
  ORDER BY ${value} ${order}, start_ms LIMIT 1`

/** Other work runs after about as many rows as a chunk has; to look for some costs this many. */
const LOOK_ROWS = 20

/** A lock or an I/O error may be gone when the reading is retried. */
const RETRY_AFTER_SECONDS = 5

const QUARTER_MS = 15 * MINUTE_MS

/** Totals of a range with any ends are those of its days, hours, minutes and measurements. */
const STRETCH_WINDOWS_MS = [DAY_MS, HOUR_MS, MINUTE_MS]

/** Sorts before every tie-break of a millisecond. */
const NO_TIE_BREAK = -1

/** Where the extreme of a range may be. */
type Candidate = { readonly celsius: number } & (
  { readonly point: StoredPoint } | { readonly startMs: number; readonly windowMs: number }
)

type RawRow = [measuredAtMs: number, tieBreakNs: number, celsius: number]

export class SqliteMeasurementReader implements MeasurementReader {
  readonly #db: Connection
  readonly #onDamaged: (problem: string) => void
  readonly #raw
  readonly #ends
  /** By window length. */
  readonly #extremeIn: ReadonlyMap<number, ReturnType<typeof prepareExtremes>>
  /** By window length. */
  readonly #stored: ReadonlyMap<number, ReturnType<typeof prepareSummaries>>

  /**
   * Opens `file`, which its writer has already created.
   *
   * @param onDamaged is told what cannot be read
   */
  constructor(file: string, onDamaged: (problem: string) => void = () => {}) {
    this.#onDamaged = onDamaged
    this.#db = openForReading(file)
    this.#raw = this.#db.prepare<number[], RawRow>(READ_RAW).raw()
    const end = (order: 'ASC' | 'DESC') => this.#db.prepare<number[], RawRow>(endBy(order)).raw()
    this.#ends = { first: end('ASC'), last: end('DESC') }
    this.#extremeIn = new Map([
      [DAY_MS, prepareExtremes(this.#db, 'day_summaries')],
      [HOUR_MS, prepareExtremes(this.#db, 'hour_summaries')],
      [MINUTE_MS, prepareExtremes(this.#db, 'minute_summaries')],
    ])
    this.#stored = new Map([
      [DAY_MS, prepareSummaries(this.#db, 'day_summaries')],
      [HOUR_MS, prepareSummaries(this.#db, 'hour_summaries')],
      [QUARTER_MS, prepareSummaries(this.#db, 'quarter_summaries')],
      [MINUTE_MS, prepareSummaries(this.#db, 'minute_summaries')],
    ])
  }

  async *readRaw({
    sensorIds,
    startMs,
    stopMs,
  }: SeriesRange): AsyncIterable<readonly StoredPoint[]> {
    const turn = turns()
    for (const sensorId of sensorIds) {
      let [afterMs, afterTieBreakNs] = [startMs, NO_TIE_BREAK]
      for (;;) {
        const rows = this.#read(sensorId, () =>
          this.#raw.all(sensorId, afterMs, afterTieBreakNs, stopMs),
        )
        const last = rows.at(-1)
        if (last !== undefined) yield rows.map((row) => pointOf(sensorId, row))
        await turn(rows.length)
        if (last === undefined || rows.length < CHUNK_ROWS) break
        ;[afterMs, afterTieBreakNs] = last
      }
    }
  }

  async *readOne(range: SeriesRange, selector: Selector): AsyncIterable<readonly StoredPoint[]> {
    const turn = turns()
    for (const sensorId of range.sensorIds) {
      const isExtreme = selector === 'min' || selector === 'max'
      const point = isExtreme
        ? await this.#extreme(sensorId, range, selector)
        : this.#end(sensorId, range, selector)
      if (point !== undefined) yield [point]
      await turn(isExtreme ? CHUNK_ROWS : 1)
    }
  }

  #end(sensorId: number, { startMs, stopMs }: TimeRange, selector: 'first' | 'last') {
    const end = this.#ends[selector]
    const [row] = this.#read(sensorId, () => end.all(sensorId, startMs, stopMs))
    return row && pointOf(sensorId, row)
  }

  /** By the windows of which one has the extreme, the coarsest first. */
  async #extreme(
    sensorId: number,
    range: TimeRange,
    selector: 'min' | 'max',
    windowsMs = STRETCH_WINDOWS_MS,
  ): Promise<StoredPoint | undefined> {
    const sign = selector === 'min' ? 1 : -1
    let best: Candidate | undefined
    for (const stretch of stretchesOf(range, windowsMs)) {
      const found =
        stretch.windowMs === undefined
          ? await this.#extremePoint(sensorId, stretch, sign)
          : this.#extremeWindow(sensorId, { ...stretch, windowMs: stretch.windowMs }, selector)
      if (found && sign * (found.celsius - (best?.celsius ?? sign * Infinity)) < 0) best = found
    }
    if (best === undefined || 'point' in best) return best?.point
    const { windowMs, startMs } = best
    const finer = windowsMs.filter((finerMs) => finerMs < windowMs)
    return this.#extreme(sensorId, { startMs, stopMs: startMs + windowMs }, selector, finer)
  }

  async #extremePoint(sensorId: number, range: TimeRange, sign: 1 | -1) {
    let best: { readonly celsius: number; readonly point: StoredPoint } | undefined
    for await (const points of this.readRaw({ sensorIds: [sensorId], ...range })) {
      for (const point of points) {
        const celsius = point.rawCelsius
        if (best === undefined || sign * (celsius - best.celsius) < 0) best = { celsius, point }
      }
    }
    return best
  }

  #extremeWindow(
    sensorId: number,
    { windowMs, startMs, stopMs }: TimeRange & { readonly windowMs: number },
    selector: 'min' | 'max',
  ): Candidate | undefined {
    const extremeIn = this.#extremeIn.get(windowMs)?.[selector]
    const [row] = this.#read(sensorId, () => extremeIn?.all(sensorId, startMs, stopMs) ?? [])
    return row && { celsius: row[1], startMs: row[0], windowMs }
  }

  readWindows(range: SeriesRange, windowMs: number): AsyncIterable<readonly WindowSummary[]> {
    const stored = this.#stored.get(windowMs)
    if (stored !== undefined) return this.#readStored(stored, range)
    return foldWindows(this.readWindows(range, MINUTE_MS), (atMs) => floorToWindow(atMs, windowMs))
  }

  readTotals(range: SeriesRange): AsyncIterable<readonly WindowSummary[]> {
    return foldWindows(this.#readStretches(range), () => range.startMs)
  }

  async close(): Promise<void> {
    this.#db.close()
  }

  async *#readStretches(range: SeriesRange): AsyncIterable<readonly WindowSummary[]> {
    for (const { windowMs, ...stretch } of stretchesOf(range, STRETCH_WINDOWS_MS)) {
      const part = { ...range, ...stretch }
      yield* windowMs === undefined
        ? summarize(this.readRaw(part))
        : this.readWindows(part, windowMs)
    }
  }

  async *#readStored(
    statement: ReturnType<typeof prepareSummaries>,
    { sensorIds, startMs, stopMs }: SeriesRange,
  ): AsyncIterable<readonly WindowSummary[]> {
    const turn = turns()
    for (const sensorId of sensorIds) {
      let fromMs = startMs
      for (;;) {
        const rows = this.#read(sensorId, () => statement.all(sensorId, fromMs, stopMs))
        const last = rows.at(-1)
        if (last !== undefined) yield rows
        await turn(rows.length)
        if (last === undefined || rows.length < CHUNK_ROWS) break
        fromMs = last.startMs + 1
      }
    }
  }

  #read<Row>(sensorId: number, read: () => Row[]): Row[] {
    try {
      return read()
    } catch (error) {
      if (isDamage(error)) {
        const problem = damagedSeries(MEASUREMENTS_FILE, sensorId)
        this.#onDamaged(problem)
        throw postponedError('data_damaged', { cause: error, hint: problem })
      }
      if (codeOf(error) === '') throw error
      throw new ServiceError('history_unavailable', {
        detail: 'The measurement store cannot be read at the moment.',
        retryAfterSeconds: RETRY_AFTER_SECONDS,
        hint: `cannot read measurements: ${codeOf(error)}`,
        cause: error,
      })
    }
  }
}

function prepareSummaries(db: Connection, table: SummaryTable) {
  const sql = `
    SELECT sensor_id AS sensorId, start_ms AS startMs, measurement_count AS count,
      sum_celsius AS sum, min_celsius AS min, max_celsius AS max
    FROM ${table}
    WHERE sensor_id = ? AND start_ms >= ? AND start_ms < ?
    ORDER BY start_ms LIMIT ${CHUNK_ROWS}`
  return db.prepare<number[], WindowSummary>(sql)
}

function prepareExtremes(db: Connection, table: SummaryTable) {
  const prepare = (value: string, order: 'ASC' | 'DESC') =>
    db.prepare<number[], [startMs: number, celsius: number]>(windowBy(table, value, order)).raw()
  return { min: prepare('min_celsius', 'ASC'), max: prepare('max_celsius', 'DESC') }
}

function pointOf(sensorId: number, [measuredAtMs, , rawCelsius]: RawRow): StoredPoint {
  return { sensorId, measuredAtMs, rawCelsius }
}

/** @returns what is awaited after each look with as many rows */
function turns(): (rows: number) => Promise<void> {
  let work = 0
  return async (rows) => {
    work += rows + LOOK_ROWS
    if (work < CHUNK_ROWS) return
    work = 0
    await setImmediate()
  }
}
