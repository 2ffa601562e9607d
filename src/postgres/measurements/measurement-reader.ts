// MeasurementReader on PostgreSQL: hours and days are read from summaries, finer windows computed
// from measurements. One statement answers a question about any number of sensors; a long answer
// comes in parts, so that memory stays bounded.

import { ServiceError } from '../../domain/errors.ts'
import type { Selector, SeriesRange, StoredPoint, WindowSummary } from '../../domain/history.ts'
import { stretchesOf } from '../../domain/stretches.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../domain/time.ts'
import type { MeasurementReader } from '../../ports/measurement-store.ts'
import type { Sql } from '../server/database.ts'

/** Rows of a part; with many sensors, each gets a few. */
const ROWS_MAX = 10_000
const SENSOR_ROWS_MIN = 10

/** Windows of a part that is computed from measurements, or from summaries of all sensors. */
const WINDOWS_MAX = 50_000

/**
 * How much time, summed over all sensors, the first such part covers: how often they measure is not
 * known yet. The next ones cover about a million measurements, half a second's work, but not much
 * more time than the one before.
 */
const FIRST_SENSORS_MS = 100_000 * MINUTE_MS
const SENSORS_MS_MAX = 4 * FIRST_SENSORS_MS
const FOLDED_AT_ONCE = 1_000_000

type Table = 'measurements' | 'measurements_hour' | 'measurements_day'

/** By window length. */
const SUMMARY_TABLES: ReadonlyMap<number, Table> = new Map([
  [DAY_MS, 'measurements_day'],
  [HOUR_MS, 'measurements_hour'],
])

/** A measurement is a summary of one. */
const SUMMARIES_IN: Readonly<Record<Table, string>> = {
  measurements: `(
    SELECT sensor_id, at_ms, 1 AS count, temp_celsius AS sum, temp_celsius AS min,
      temp_celsius AS max FROM measurements) one`,
  measurements_hour: 'measurements_hour',
  measurements_day: 'measurements_day',
}

/** The next rows of each sensor, after a time and tie-break. */
const RAW = `
  SELECT s.id AS "sensorId", r.* FROM unnest($1::int[], $2::bigint[], $3::int[]) s (id, ms, ns)
  CROSS JOIN LATERAL (
    SELECT at_ms AS "measuredAtMs", temp_celsius AS "rawCelsius", tie_break_ns AS "tieBreakNs"
    FROM measurements
    WHERE sensor_id = s.id AND at_ms >= s.ms AND at_ms >= $4 AND at_ms < $5
      AND (at_ms, tie_break_ns) > (s.ms, s.ns)
    ORDER BY at_ms, tie_break_ns LIMIT $6
  ) r ORDER BY s.id, r."measuredAtMs", r."tieBreakNs"`

const storedIn = (table: string) => `
  SELECT s.id AS "sensorId", r.* FROM unnest($1::int[], $2::bigint[], $3::int[]) s (id, ms, ns)
  CROSS JOIN LATERAL (
    SELECT at_ms AS "startMs", count, sum, min, max FROM ${table}
    WHERE sensor_id = s.id AND at_ms > s.ms + s.ns AND at_ms >= $4 AND at_ms < $5
    ORDER BY at_ms LIMIT $6
  ) r ORDER BY s.id, r."startMs"`

/** The hour of the sensors' first measurement. */
const FIRST_HOUR = `
  SELECT min(h.at_ms) AS "atMs" FROM unnest($1::int[]) s (id) CROSS JOIN LATERAL (
    SELECT at_ms FROM measurements_hour
    WHERE sensor_id = s.id AND at_ms > $2::bigint - ${HOUR_MS} AND at_ms < $3
    ORDER BY at_ms LIMIT 1
  ) h`

type Extreme = keyof typeof EXTREMES

/** The order in which each comes first. */
const EXTREMES = { min: 'ASC', max: 'DESC' } as const

const ofEach = (one: string) => `
  SELECT s.id AS "sensorId", r.at_ms AS "measuredAtMs", r.temp_celsius AS "rawCelsius"
  FROM unnest($1::int[]) s (id) CROSS JOIN LATERAL (${one}) r`

const MEASUREMENTS = `
  SELECT at_ms, tie_break_ns, temp_celsius FROM measurements
  WHERE sensor_id = s.id`

/** Looks into two hours with measurements: those of the one at the end may be outside the range. */
const outermost = (order: 'ASC' | 'DESC') =>
  ofEach(`
  SELECT m.* FROM (
    SELECT min(at_ms) AS first_ms, max(at_ms) + ${HOUR_MS} AS stop_ms FROM (
      SELECT at_ms FROM measurements_hour
      WHERE sensor_id = s.id AND at_ms > $2::bigint - ${HOUR_MS} AND at_ms < $3
      ORDER BY at_ms ${order} LIMIT 2
    ) hours
  ) h
  CROSS JOIN LATERAL (
    ${MEASUREMENTS} AND at_ms >= greatest(h.first_ms, $2) AND at_ms < least(h.stop_ms, $3)
    ORDER BY at_ms ${order}, tie_break_ns ${order} LIMIT 1
  ) m`)

/** By the windows of which one has the extreme, the coarsest first. */
function extremeIn(
  extreme: Extreme,
  [windowMs, ...finer]: readonly number[],
  { from, to }: { readonly from: string; readonly to: string },
): string {
  const inRange = `at_ms >= ${from} AND at_ms < ${to}`
  if (windowMs === undefined) return `${MEASUREMENTS} AND ${inRange}`
  const window = `window_${windowMs}`
  const inWindow = { from: `${window}.at_ms`, to: `${window}.at_ms + ${windowMs}` }
  return `
    SELECT inside.* FROM (
      SELECT at_ms FROM ${SUMMARY_TABLES.get(windowMs)}
      WHERE sensor_id = s.id AND ${inRange}
      ORDER BY ${extreme} ${EXTREMES[extreme]}, at_ms LIMIT 1
    ) ${window} CROSS JOIN LATERAL (${extremeIn(extreme, finer, inWindow)}) inside`
}

/** Folds the rows of a table into windows, of each sensor or of all together. */
function folded(table: Table, areOne: boolean): string {
  const [sensor, groups] = areOne ? ['min(sensor_id)', '2'] : ['sensor_id', '1, 2']
  return `
    SELECT ${sensor} AS "sensorId", at_ms - ((at_ms % $4) + $4) % $4 AS "startMs",
      sum(count)::bigint AS count, sum(sum), min(min), max(max)
    FROM ${SUMMARIES_IN[table]}
    WHERE sensor_id = ANY($1::int[])
      AND at_ms >= $2::bigint AND at_ms < $3::bigint
    GROUP BY ${groups} ORDER BY ${groups}`
}

/** A sensor, and after which row to read on: its time and tie-break. */
interface Place {
  readonly sensorId: number
  readonly atMs: number
  readonly tieBreakNs: number
}

interface RawRow extends StoredPoint {
  readonly tieBreakNs: number
}

export class PostgresMeasurementReader implements MeasurementReader {
  readonly #database: Pick<Sql, 'rows'>

  constructor(database: Pick<Sql, 'rows'>) {
    this.#database = database
  }

  async *readRaw(range: SeriesRange): AsyncIterable<readonly StoredPoint[]> {
    for await (const rows of this.#readOn(RAW, range, placeOfRaw)) {
      yield rows.map(({ sensorId, measuredAtMs, rawCelsius }) => {
        return { sensorId, measuredAtMs, rawCelsius }
      })
    }
  }

  async *readOne(range: SeriesRange, selector: Selector): AsyncIterable<readonly StoredPoint[]> {
    const { sensorIds, startMs, stopMs } = range
    if (selector === 'first' || selector === 'last') {
      const order = selector === 'first' ? 'ASC' : 'DESC'
      yield await this.#rows<StoredPoint>(outermost(order), sensorIds, startMs, stopMs)
      return
    }
    const values: number[] = []
    const windowsMs = [...SUMMARY_TABLES.keys()]
    const parts = [...stretchesOf(range, windowsMs)].map((stretch) => {
      values.push(stretch.startMs, stretch.stopMs)
      // Behind the sensors.
      const [from, to] = [`$${values.length}::bigint`, `$${values.length + 1}::bigint`]
      const finer = windowsMs.filter((windowMs) => windowMs <= (stretch.windowMs ?? 0))
      return extremeIn(selector, finer, { from, to })
    })
    if (parts.length === 0) return
    const found = parts.map((part) => `(${part})`).join(' UNION ALL ')
    const order = `temp_celsius ${EXTREMES[selector]}, at_ms, tie_break_ns`
    const best = ofEach(`SELECT * FROM (${found}) found ORDER BY ${order} LIMIT 1`)
    yield await this.#rows<StoredPoint>(best, sensorIds, ...values)
  }

  readWindows(range: SeriesRange, windowMs: number): AsyncIterable<readonly WindowSummary[]> {
    const table = SUMMARY_TABLES.get(windowMs)
    if (table === undefined) return this.#fold(range, windowMs)
    if (range.areOne === true) return this.#join(table, range, windowMs)
    return this.#readOn(storedIn(table), range, placeOfSummary)
  }

  async *readTotals(range: SeriesRange): AsyncIterable<readonly WindowSummary[]> {
    const { sensorIds, startMs } = range
    const values: unknown[] = [startMs]
    const parts = [...stretchesOf(range, [...SUMMARY_TABLES.keys()])].map((stretch) => {
      values.push(stretch.startMs, stretch.stopMs)
      return `SELECT sensor_id, count, sum, min, max
        FROM ${SUMMARIES_IN[SUMMARY_TABLES.get(stretch.windowMs ?? 0) ?? 'measurements']}
        WHERE sensor_id = ANY($1::int[])
          AND at_ms >= $${values.length}::bigint AND at_ms < $${values.length + 1}::bigint`
    })
    if (parts.length === 0) return
    yield await this.#rows<WindowSummary>(
      `SELECT sensor_id AS "sensorId", $2::bigint AS "startMs", sum(count)::bigint AS count,
        sum(sum), min(min), max(max)
      FROM (${parts.join('\n UNION ALL ')}) parts GROUP BY sensor_id`,
      sensorIds,
      ...values,
    )
  }

  /** Its opener closes the database. */
  async close(): Promise<void> {
    await Promise.resolve()
  }

  /** Reads some rows of each sensor, and continues with the sensors that may have more. */
  async *#readOn<Row extends { readonly sensorId: number }>(
    statement: string,
    { sensorIds, startMs, stopMs }: SeriesRange,
    placeOf: (row: Row) => Place,
  ): AsyncIterable<readonly Row[]> {
    let places = sensorIds.map((sensorId): Place => ({ sensorId, atMs: startMs, tieBreakNs: -1 }))
    while (places.length > 0) {
      const rowsMax = Math.max(SENSOR_ROWS_MIN, Math.floor(ROWS_MAX / places.length))
      const rows = await this.#rows<Row>(
        statement,
        places.map(({ sensorId }) => sensorId),
        places.map(({ atMs }) => atMs),
        places.map(({ tieBreakNs }) => tieBreakNs),
        startMs,
        stopMs,
        rowsMax,
      )
      if (rows.length > 0) yield rows
      const ofSensors = Map.groupBy(rows, ({ sensorId }) => sensorId)
      places = [...ofSensors.values()].flatMap((own) => {
        const last = own.at(rowsMax - 1)
        return last === undefined ? [] : [placeOf(last)]
      })
    }
  }

  /** Adds up the stored summaries of all sensors. */
  async *#join(
    table: Table,
    { sensorIds, startMs, stopMs }: SeriesRange,
    windowMs: number,
  ): AsyncIterable<readonly WindowSummary[]> {
    const windows = Math.min(WINDOWS_MAX, Math.floor(FOLDED_AT_ONCE / sensorIds.length))
    const partMs = Math.max(1, windows) * windowMs
    for (let fromMs = startMs; fromMs < stopMs; fromMs += partMs) {
      const endMs = Math.min(stopMs, fromMs + partMs)
      yield await this.#rows(folded(table, true), sensorIds, fromMs, endMs, windowMs)
    }
  }

  /** Each part begins at a measurement, so that gaps of years cost nothing. */
  async *#fold(
    { sensorIds, startMs, stopMs, areOne = false }: SeriesRange,
    windowMs: number,
  ): AsyncIterable<readonly WindowSummary[]> {
    const statement = folded('measurements', areOne)
    const windowsMax = Math.max(1, Math.floor(WINDOWS_MAX / (areOne ? 1 : sensorIds.length)))
    let sensorsMs = FIRST_SENSORS_MS
    for (let fromMs = startMs; fromMs < stopMs;) {
      const [first] = await this.#rows<{ atMs: number | null }>(
        FIRST_HOUR,
        sensorIds,
        fromMs,
        stopMs,
      )
      if (first === undefined || first.atMs === null) return
      const partMs = Math.max(fromMs, first.atMs)
      const windows = Math.max(1, Math.floor(sensorsMs / sensorIds.length / windowMs))
      const endMs = Math.min(stopMs, partMs + Math.min(windows, windowsMax) * windowMs)
      const rows = await this.#rows<WindowSummary>(statement, sensorIds, partMs, endMs, windowMs)
      const measurements = rows.reduce((sum, { count }) => sum + count, 0)
      const fitsMs = sensorsMs * (FOLDED_AT_ONCE / Math.max(1, measurements))
      sensorsMs = Math.min(SENSORS_MS_MAX, fitsMs)
      fromMs = endMs
      yield rows
    }
  }

  async #rows<Row>(
    text: string,
    sensorIds: readonly number[],
    ...values: readonly unknown[]
  ): Promise<Row[]> {
    try {
      return await this.#database.rows<Row>(text, [sensorIds, ...values])
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      const hint = error.hint ?? error.message
      throw new ServiceError('history_unavailable', { retryAfterSeconds: 1, hint, cause: error })
    }
  }
}

function placeOfRaw({ sensorId, measuredAtMs, tieBreakNs }: RawRow): Place {
  return { sensorId, atMs: measuredAtMs, tieBreakNs }
}

function placeOfSummary({ sensorId, startMs }: WindowSummary): Place {
  return { sensorId, atMs: startMs, tieBreakNs: 0 }
}
