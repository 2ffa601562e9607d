// Audits the measurement store in PostgreSQL: which sensors it has, how many measurements on each
// day, and whether the summaries match the measurements. No table vouches for another. Each
// statement about a sensor sees one moment, in which summaries and measurements must agree.

import { RESTORE_PART } from '../../domain/finding.ts'
import { DAY_MS, HOUR_MS } from '../../domain/time.ts'
import type { TimeRange } from '../../domain/time.ts'
import type { Sql } from '../server/database.ts'

const TABLES = ['measurements', 'measurements_hour', 'measurements_day']
const SENSOR_IDS = `
  SELECT DISTINCT sensor_id AS id FROM (
    ${TABLES.map((table) => `SELECT sensor_id FROM ${table}`).join(' UNION ')}) AS stored`
const COUNT_BY_DAY = `
  SELECT floor(at_ms / 86400000.0)::int AS day, count(*)::int AS measurements
  FROM measurements WHERE sensor_id = $1 AND at_ms >= $2 AND at_ms < $3
  GROUP BY 1`

const WINDOWS = [
  { table: 'measurements_hour', windowMs: HOUR_MS },
  { table: 'measurements_day', windowMs: DAY_MS },
]
/** Stored sums were added up in a different order. */
const SUM_TOLERANCE = 1e-9
const OF_SENSOR = 'WHERE sensor_id = $1 AND at_ms >= $2 AND at_ms < $3'
const mismatchesIn = (table: string, windowMs: number) => `
  SELECT coalesce(m.at_ms, s.at_ms) AS "startMs", coalesce(m.count, 0) AS measurements,
    coalesce(s.count, 0) AS summarised
  FROM (
    SELECT floor(at_ms / ${windowMs}.0)::bigint * ${windowMs} AS at_ms, count(*)::int AS count,
      sum(temp_celsius) AS sum, min(temp_celsius) AS min, max(temp_celsius) AS max
    FROM measurements ${OF_SENSOR} GROUP BY 1) AS m
  FULL JOIN (SELECT * FROM ${table} ${OF_SENSOR}) AS s ON s.at_ms = m.at_ms
  WHERE m.count IS DISTINCT FROM s.count OR m.min <> s.min OR m.max <> s.max
    OR abs(m.sum - s.sum) > ${SUM_TOLERANCE} * (1 + m.count * greatest(abs(m.min), abs(m.max)))
  ORDER BY 1`

interface WrongSummary {
  readonly table: string
  readonly startMs: number
  readonly measurements: number
  /** 0 without a summary. */
  readonly summarised: number
}

export class PostgresStoreAudit {
  readonly name = 'PostgreSQL'
  readonly missingRemedy = RESTORE_PART
  readonly #database: Pick<Sql, 'rows'>

  constructor(database: Pick<Sql, 'rows'>) {
    this.#database = database
  }

  deletionRemedy(sensorId: number): string {
    const deletions = TABLES.map((table) => `DELETE FROM ${table} WHERE sensor_id = ${sensorId};`)
    return `No API shows them and their id is never reused. Delete them: ${deletions.join(' ')}`
  }

  /** The sensors that have measurements or summaries. */
  async sensorIds(): Promise<Set<number>> {
    const rows = await this.#database.rows<{ id: number }>(SENSOR_IDS)
    return new Set(rows.map(({ id }) => id))
  }

  /** Measurements per UTC day, by the start of the day. */
  async countByDay(sensorId: number, range: TimeRange): Promise<Map<number, number>> {
    const values = placeOf(sensorId, range)
    type Row = { readonly day: number; readonly measurements: number }
    const rows = await this.#database.rows<Row>(COUNT_BY_DAY, values)
    return new Map(rows.map(({ day, measurements }) => [day * DAY_MS, measurements]))
  }

  /** Yields the number of measurements checked, and the wrong summaries. */
  async *checkSummaries(
    sensorId: number,
    range: TimeRange,
  ): AsyncGenerator<{ measurements: number; wrong: WrongSummary[] }> {
    const values = placeOf(sensorId, range)
    const wrong: WrongSummary[] = []
    for (const { table, windowMs } of WINDOWS) {
      const text = mismatchesIn(table, windowMs)
      const rows = await this.#database.rows<Omit<WrongSummary, 'table'>>(text, values)
      wrong.push(...rows.map((row) => ({ table, ...row })))
    }
    const counts = await this.countByDay(sensorId, range)
    yield { measurements: counts.values().reduce((sum, count) => sum + count, 0), wrong }
  }
}

function placeOf(sensorId: number, { startMs, stopMs }: TimeRange): readonly number[] {
  return [sensorId, startMs, stopMs]
}
