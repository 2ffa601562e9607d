// MeasurementReader on PostgreSQL: hours and days are read from the summaries, finer windows are
// made of the measurements. Both come in parts, so that memory stays bounded.

import { ServiceError } from '../../domain/errors.ts'
import type { RawPoint, SeriesRange, WindowSummary } from '../../domain/history.ts'
import { DAY_MS, floorToWindow, HOUR_MS } from '../../domain/time.ts'
import type { MeasurementReader } from '../../ports/measurement-store.ts'
import type { Database } from '../database.ts'

const POINTS_MAX = 10_000
const WINDOWS_MAX = 5_000

const RAW = `
  SELECT at_ms AS "measuredAtMs", temp_celsius AS "rawCelsius", tie_break_ns AS "tieBreakNs"
  FROM measurements
  WHERE sensor_id = $1 AND at_ms >= $2 AND at_ms < $3 AND (at_ms, tie_break_ns) > ($2, $4)
  ORDER BY at_ms, tie_break_ns LIMIT ${POINTS_MAX}`
const summariesOf = (table: string) => `
  SELECT at_ms AS "startMs", count, sum, min, max FROM ${table}
  WHERE sensor_id = $1 AND at_ms >= $2 AND at_ms < $3 ORDER BY at_ms LIMIT ${WINDOWS_MAX}`
const SUMMARIES = new Map([
  [HOUR_MS, summariesOf('measurements_hour')],
  [DAY_MS, summariesOf('measurements_day')],
])
const FIRST = `
  SELECT at_ms AS "atMs" FROM measurements
  WHERE sensor_id = $1 AND at_ms >= $2 AND at_ms < $3 ORDER BY at_ms LIMIT 1`
const FOLDED = `
  SELECT floor(at_ms / $4::numeric)::bigint * $4::bigint AS "startMs", count(*)::int AS count,
    sum(temp_celsius), min(temp_celsius), max(temp_celsius)
  FROM measurements WHERE sensor_id = $1 AND at_ms >= $2 AND at_ms < $3
  GROUP BY 1 ORDER BY 1`

interface RawRow extends RawPoint {
  readonly tieBreakNs: number
}

export class PostgresMeasurementReader implements MeasurementReader {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async *readRaw({ sensorId, startMs, stopMs }: SeriesRange): AsyncIterable<readonly RawPoint[]> {
    let place = [startMs, -1]
    for (;;) {
      const [fromMs, afterTieBreak] = place
      const rows = await this.#rows<RawRow>(RAW, [sensorId, fromMs, stopMs, afterTieBreak])
      const last = rows.at(-1)
      if (last === undefined) return
      yield rows.map(({ measuredAtMs, rawCelsius }) => ({ measuredAtMs, rawCelsius }))
      if (rows.length < POINTS_MAX) return
      place = [last.measuredAtMs, last.tieBreakNs]
    }
  }

  readWindows(range: SeriesRange, windowMs: number): AsyncIterable<readonly WindowSummary[]> {
    const stored = SUMMARIES.get(windowMs)
    return stored === undefined ? this.#fold(range, windowMs) : this.#readStored(stored, range)
  }

  /** The database is closed by who opened it. */
  async close(): Promise<void> {
    await Promise.resolve()
  }

  async *#readStored(
    statement: string,
    { sensorId, startMs, stopMs }: SeriesRange,
  ): AsyncIterable<readonly WindowSummary[]> {
    for (let fromMs = startMs; ;) {
      const rows = await this.#rows<WindowSummary>(statement, [sensorId, fromMs, stopMs])
      const last = rows.at(-1)
      if (last === undefined) return
      yield rows
      if (rows.length < WINDOWS_MAX) return
      fromMs = last.startMs + 1
    }
  }

  /** Begins each part where there is a measurement: gaps of years cost nothing. */
  async *#fold(
    { sensorId, startMs, stopMs }: SeriesRange,
    windowMs: number,
  ): AsyncIterable<readonly WindowSummary[]> {
    for (let fromMs = startMs; fromMs < stopMs;) {
      const [first] = await this.#rows<{ atMs: number }>(FIRST, [sensorId, fromMs, stopMs])
      if (first === undefined) return
      const partMs = floorToWindow(first.atMs, windowMs)
      const endMs = Math.min(stopMs, partMs + WINDOWS_MAX * windowMs)
      yield await this.#rows<WindowSummary>(FOLDED, [sensorId, partMs, endMs, windowMs])
      fromMs = endMs
    }
  }

  async #rows<Row>(text: string, values: readonly unknown[]): Promise<Row[]> {
    try {
      return await this.#database.rows<Row>(text, values)
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      const hint = error.hint ?? error.message
      throw new ServiceError('history_unavailable', { retryAfterSeconds: 1, hint, cause: error })
    }
  }
}
