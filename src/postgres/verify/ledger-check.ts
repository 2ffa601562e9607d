// Checks the ledger against the sensors and the counts of accepted measurements, and that no new
// measurement can get the tie-break of a stored one.

import { describeTaken } from '../../domain/finding.ts'
import type { Report } from '../../domain/finding.ts'
import { decodeSpans } from '../../domain/time-spans.ts'
import type { Database, Sql } from '../server/database.ts'
import { RESTORE } from './remedies.ts'

const EVENTS = 'SELECT count(*) AS events FROM ledger'
const SENSORS = `
  SELECT l.sensor_id AS "sensorId", l.events, a.accepted,
    s.id IS NOT NULL AS "isKnown", s.deleted_at_ms IS NULL AS "isLive"
  FROM (
    SELECT sensor_id, user_id, count(*) AS events FROM ledger GROUP BY 1, 2) AS l
  LEFT JOIN sensors s ON s.id = l.sensor_id AND s.user_id = l.user_id
  LEFT JOIN (
    SELECT sensor_id, sum(measurements)::bigint AS accepted FROM accepted_per_day
    GROUP BY 1) AS a ON a.sensor_id = l.sensor_id
  WHERE s.id IS NULL
    OR (s.deleted_at_ms IS NULL AND l.events > coalesce(a.accepted, 0))
  ORDER BY 1 LIMIT 1000`
const TAKEN_AGAIN = `
  SELECT m.sensor_id AS "sensorId", min(m.at_ms) AS "atMs", count(*) AS times
  FROM (
    SELECT sensor_id, at_ms, max(tie_break_ns) AS taken FROM measurements
    WHERE tie_break_ns > 0 GROUP BY 1, 2) AS m
  JOIN sensors s ON s.id = m.sensor_id AND s.deleted_at_ms IS NULL
  LEFT JOIN tie_breaks t
    ON t.sensor_id = m.sensor_id AND t.at_ms = m.at_ms
  WHERE coalesce(t.next, 1) <= m.taken GROUP BY 1 ORDER BY 1`
const SPANS = `
  SELECT sensor_id AS id, time_spans AS spans FROM sensor_state
  WHERE sensor_id > $1 ORDER BY sensor_id LIMIT 1000`
const OUTSIDE = `
  SELECT * FROM (
    SELECT g.sensor_id AS "sensorId", (
      SELECT min(m.at_ms) FROM measurements m
      WHERE m.sensor_id = g.sensor_id
        AND m.at_ms > g.after_ms AND m.at_ms < g.before_ms) AS "atMs"
    FROM unnest($1::int[], $2::bigint[], $3::bigint[]) AS g (sensor_id, after_ms, before_ms)
  ) AS found WHERE "atMs" IS NOT NULL`

/** Before and after everything. */
const EDGES_MS = [-1e15, 1e15] as const

interface SensorRow {
  readonly sensorId: number
  readonly events: number
  readonly accepted: number | null
  readonly isKnown: boolean
  readonly isLive: boolean
}

interface FreeTime {
  readonly sensorId: number
  readonly atMs: number
  readonly times: number
}

/** @returns the number of events */
export async function checkLedger(
  database: Database,
  mayHaveDropped: boolean,
  report: Report,
): Promise<number> {
  const [events, sensors] = await database.view(async (sql) => {
    const [counted] = await sql.rows<{ events: number }>(EVENTS)
    return [counted?.events ?? 0, await sql.rows<SensorRow>(SENSORS)] as const
  })
  for (const sensor of sensors) {
    const problem = problemOf(sensor, mayHaveDropped)
    if (problem === undefined) continue
    const { sensorId } = sensor
    report({ check: 'ledger', where: 'PostgreSQL', sensorId, problem, remedy: RESTORE })
  }
  return events
}

function problemOf(sensor: SensorRow, mayHaveDropped: boolean): string | undefined {
  const { events, accepted, isKnown, isLive } = sensor
  if (!isKnown) return 'the ledger has events of a sensor that never was'
  if (!isLive || mayHaveDropped) return undefined
  return `the ledger knows ${events} events, but ${accepted ?? 0} measurements were accepted`
}

/** Checks that the next tie-break of every time is above the stored ones. */
export async function checkTieBreaks(database: Database, report: Report): Promise<void> {
  for (const row of await database.rows<FreeTime>(TAKEN_AGAIN)) reportFree(row, report)
  for (let lastId: number | undefined = 0; lastId !== undefined;) {
    const afterId: number = lastId
    lastId = await database.view((sql) => checkSpans(sql, afterId, report))
  }
}

/** @returns the last sensor checked */
async function checkSpans(sql: Sql, afterId: number, report: Report): Promise<number | undefined> {
  const rows = await sql.rows<{ id: number; spans: Buffer }>(SPANS, [afterId])
  const gaps = rows.flatMap(({ id, spans }) => gapsOf(id, decodeSpans(spans)))
  const values = [0, 1, 2].map((column) => gaps.map((gap) => gap[column]))
  for (const { sensorId, atMs } of await sql.rows<FreeTime>(OUTSIDE, values)) {
    reportFree({ sensorId, atMs, times: 1 }, report)
  }
  return rows.at(-1)?.id
}

type Gap = readonly [sensorId: number, afterMs: number, beforeMs: number]

/** Outside of the time spans no measurement may lie: the next one there gets the tie-break 0. */
function gapsOf(sensorId: number, spans: Float64Array): Gap[] {
  const [firstMs, lastMs] = EDGES_MS
  const edges = [firstMs, ...spans, lastMs]
  return Array.from({ length: edges.length / 2 }, (_, at) => {
    return [sensorId, edges[at * 2] ?? 0, edges[at * 2 + 1] ?? 0]
  })
}

function reportFree({ sensorId, atMs, times }: FreeTime, report: Report): void {
  report({ ...describeTaken(atMs, times), where: 'PostgreSQL', sensorId, remedy: RESTORE })
}
