// What is in measurements.db, with no table trusted to vouch for another: which sensors it has, how
// many measurements on each day, and whether the summaries match the measurements. Each transaction
// reads about ten thousand rows, beside the forward thread.

import { RESTORE_PART } from '../../domain/finding.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, floorToWindow } from '../../domain/time.ts'
import type { TimeRange } from '../../domain/time.ts'
import { MEASUREMENTS_FILE, openForReading } from '../database.ts'
import type { Connection } from '../database.ts'
import { SUMMARY_TABLES } from '../measurements/schema.ts'
import type { SummaryTable } from '../measurements/schema.ts'

const ROWS_WANTED = 25_000
const DAYS_AT_ONCE_MAX = 64
const QUARTER_MS = 15 * MINUTE_MS

/** Sums of sums are added up in a different order than here. */
const SUM_TOLERANCE = 1e-9

const WINDOWS: readonly { readonly table: SummaryTable; readonly windowMs: number }[] = [
  { table: 'minute_summaries', windowMs: MINUTE_MS },
  { table: 'quarter_summaries', windowMs: QUARTER_MS },
  { table: 'hour_summaries', windowMs: HOUR_MS },
  { table: 'day_summaries', windowMs: DAY_MS },
]

const ALL_TABLES = ['measurements', ...SUMMARY_TABLES] as const

const NEXT_SENSOR = `SELECT min(id) FROM (${ALL_TABLES.map(
  (table) => `SELECT min(sensor_id) AS id FROM ${table} WHERE sensor_id > :after`,
).join(' UNION ALL ')})`

function nextTime(tables: readonly string[]): string {
  const firsts = tables.map((table) => {
    const column = table === 'measurements' ? 'measured_at_ms' : 'start_ms'
    return `SELECT min(${column}) AS at FROM ${table}
      WHERE sensor_id = :sensorId AND ${column} >= :startMs`
  })
  return `SELECT min(at) FROM (${firsts.join(' UNION ALL ')})`
}

const COUNT = `
  SELECT count(*) FROM measurements
  WHERE sensor_id = :sensorId AND measured_at_ms >= :startMs AND measured_at_ms < :stopMs`

/** Windows that differ: computed from the measurements, and as stored. */
function mismatches(table: SummaryTable, windowMs: number): string {
  const start = `measured_at_ms - ((measured_at_ms % ${windowMs}) + ${windowMs}) % ${windowMs}`
  return `
    SELECT start_ms AS startMs, total(n) FILTER (WHERE NOT is_stored) AS measurements,
      total(n) FILTER (WHERE is_stored) AS summarised
    FROM (
      SELECT ${start} AS start_ms, count(*) AS n, sum(temp_celsius) AS total,
        min(temp_celsius) AS low, max(temp_celsius) AS high, 0 AS is_stored
      FROM measurements
      WHERE sensor_id = :sensorId AND measured_at_ms >= :startMs AND measured_at_ms < :stopMs
      GROUP BY 1
      UNION ALL
      SELECT start_ms, measurement_count, sum_celsius, min_celsius, max_celsius, 1
      FROM ${table}
      WHERE sensor_id = :sensorId AND start_ms >= :startMs AND start_ms < :stopMs)
    GROUP BY start_ms
    HAVING count(*) <> 2 OR min(n) <> max(n) OR min(low) <> max(low) OR min(high) <> max(high)
      OR max(total) - min(total) > ${SUM_TOLERANCE} * (1 + n * max(abs(low), abs(high)))
    ORDER BY start_ms`
}

/** A window whose summary does not match its measurements. */
export interface WrongSummary {
  readonly table: SummaryTable
  readonly startMs: number
  readonly measurements: number
  /** The summary's count; 0 if there is no summary. */
  readonly summarised: number
}

type Row = Omit<WrongSummary, 'table'>
type InRange = TimeRange & { readonly sensorId: number }
type From = Omit<InRange, 'stopMs'>

export class MeasurementAudit {
  readonly name = MEASUREMENTS_FILE
  readonly missingRemedy = RESTORE_PART
  readonly #db: Connection
  readonly #nextSensor
  readonly #nextMeasured
  readonly #nextOfAny
  readonly #count
  readonly #wrong

  /** Opens the existing `file`. */
  constructor(file: string) {
    const db = openForReading(file)
    this.#db = db
    this.#nextSensor = db.prepare<[{ after: number }], number | null>(NEXT_SENSOR).pluck()
    this.#nextMeasured = db.prepare<[From], number | null>(nextTime(['measurements'])).pluck()
    this.#nextOfAny = db.prepare<[From], number | null>(nextTime(ALL_TABLES)).pluck()
    this.#count = db.prepare<[InRange], number>(COUNT).pluck()
    this.#wrong = WINDOWS.map(({ table, windowMs }) => ({
      table,
      find: db.prepare<[InRange], Row>(mismatches(table, windowMs)),
    }))
  }

  deletionRemedy(): string {
    return 'No API shows them and their id is never reused: they only take up space.'
  }

  /** Sensors with anything in the file. */
  async sensorIds(): Promise<Set<number>> {
    const ids = new Set<number>()
    let after = -1
    for (;;) {
      const id = this.#nextSensor.get({ after }) ?? undefined
      if (id === undefined) return ids
      ids.add(id)
      after = id
    }
  }

  /**
   * Measurements per UTC day of the range, by the start of the day; days without any are left out.
   */
  async countByDay(sensorId: number, range: TimeRange): Promise<Map<number, number>> {
    const counts = new Map<number, number>()
    let { startMs } = range
    for (;;) {
      const atMs = this.#nextMeasured.get({ sensorId, startMs }) ?? undefined
      if (atMs === undefined || atMs >= range.stopMs) return counts
      const dayMs = floorToWindow(atMs, DAY_MS)
      const day = { startMs: dayMs, stopMs: dayMs + DAY_MS }
      counts.set(dayMs, this.#count.get({ sensorId, ...day }) ?? 0)
      startMs = day.stopMs
    }
  }

  /** Yields, every few days, how many measurements were checked and what is wrong. */
  *checkSummaries(
    sensorId: number,
    range: TimeRange,
  ): Generator<{ readonly measurements: number; readonly wrong: readonly WrongSummary[] }> {
    let { startMs } = range
    let days = 1
    for (;;) {
      const atMs = this.#nextOfAny.get({ sensorId, startMs }) ?? undefined
      if (atMs === undefined || atMs >= range.stopMs) return
      const firstMs = floorToWindow(atMs, DAY_MS)
      const part = { sensorId, startMs: firstMs, stopMs: firstMs + days * DAY_MS }
      const checked = this.#db.transaction(() => this.#checkPart(part))()
      yield checked
      startMs = part.stopMs
      const isSmall = checked.measurements < ROWS_WANTED / 2
      if (isSmall) days = Math.min(days * 2, DAYS_AT_ONCE_MAX)
      else if (checked.measurements > ROWS_WANTED) days = Math.ceil(days / 2)
    }
  }

  close(): void {
    this.#db.close()
  }

  #checkPart(part: InRange): { measurements: number; wrong: WrongSummary[] } {
    const measurements = this.#count.get(part) ?? 0
    const wrong = this.#wrong.flatMap(({ table, find }) =>
      find.all(part).map((row) => ({ table, ...row })),
    )
    return { measurements, wrong }
  }
}
