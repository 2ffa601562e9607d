// Checks that no stream lacks rows. Only the oldest rows are deleted, once they are forwarded;
// numbers are consecutive, except for the jump after a restore, which an empty row marks.

import type { Report } from '../../domain/finding.ts'
import { ENTRY_BYTES } from '../../domain/measurement-columns.ts'
import type { Database, Sql } from '../server/database.ts'
import { RESTORE } from './remedies.ts'

const IS_EMPTY = 'measurements = 0 AND entries IS NULL'
const STREAMS = `
  SELECT s.stream_id AS stream, s.head, f.seq AS forwarded, j.first, j.last,
    coalesce(j."isGap", false) AS "isGap"
  FROM streams s
  LEFT JOIN stream_forwarded f ON f.stream_id = s.stream_id
  LEFT JOIN (
    SELECT stream_id, min(seq) AS first, max(seq) AS last,
      (array_agg(${IS_EMPTY} ORDER BY seq))[1] AS "isGap"
    FROM journal GROUP BY 1) AS j ON j.stream_id = s.stream_id
  ORDER BY s.stream_id`
const HOLES = `
  SELECT stream_id AS stream, previous, seq FROM (
    SELECT stream_id, seq, ${IS_EMPTY} AS is_gap,
      lag(seq) OVER (PARTITION BY stream_id ORDER BY seq) AS previous
    FROM journal) AS rows
  WHERE seq <> previous + 1 AND NOT is_gap ORDER BY 1, 2 LIMIT 100`
const WRONG_ROWS = `
  SELECT stream_id AS stream, seq, measurements, coalesce(octet_length(entries), 0) AS bytes
  FROM journal WHERE coalesce(octet_length(entries), 0) <> measurements * ${ENTRY_BYTES}
  ORDER BY 1, 2 LIMIT 100`
const BEYOND_HEAD = `
  SELECT t.sensor_id AS "sensorId", t.stream_id AS stream, t.seq
  FROM sensor_state t LEFT JOIN streams s ON s.stream_id = t.stream_id
  WHERE t.seq > coalesce(s.head, 0) ORDER BY 1 LIMIT 100`

interface StreamRow {
  readonly stream: number
  readonly head: number
  readonly forwarded: number | null
  /** `null`: the stream has no rows. */
  readonly first: number | null
  readonly last: number | null
  /** Whether the first row may follow any number: it marks a jump. */
  readonly isGap: boolean
}

export async function checkStreams(database: Database, report: Report): Promise<void> {
  const problems = await database.view(async (sql) => [
    ...(await sql.rows<StreamRow>(STREAMS)).flatMap(problemsOf),
    ...(await holes(sql)),
    ...(await wrongRows(sql)),
  ])
  for (const problem of problems) {
    report({ check: 'journal', where: 'PostgreSQL', problem, remedy: RESTORE })
  }
  type Row = { readonly sensorId: number; readonly stream: number; readonly seq: number }
  for (const { sensorId, stream, seq } of await database.rows<Row>(BEYOND_HEAD)) {
    const problem = `its last row is ${seq} of stream ${stream}, which is missing`
    report({ check: 'journal', where: 'PostgreSQL', sensorId, problem, remedy: RESTORE })
  }
}

function problemsOf({ stream, head, forwarded, first, last, isGap }: StreamRow): string[] {
  if (forwarded === null) return [`stream ${stream}: nothing says how far it is forwarded`]
  const problems: string[] = []
  if (forwarded > head) {
    problems.push(`stream ${stream}: rows up to ${forwarded} are forwarded, the last is ${head}`)
  }
  if (last !== null && last !== head) {
    problems.push(`stream ${stream}: its last row is ${last}, but number ${head} was given out`)
  }
  const next = first ?? head + 1
  if (next > forwarded + 1 && !isGap) {
    problems.push(`stream ${stream}: rows ${forwarded + 1} to ${next - 1} are missing`)
  }
  return problems
}

async function holes(sql: Sql): Promise<string[]> {
  type Row = { readonly stream: number; readonly previous: number; readonly seq: number }
  return (await sql.rows<Row>(HOLES)).map(
    ({ stream, previous, seq }) =>
      `stream ${stream}: rows ${previous + 1} to ${seq - 1} are missing`,
  )
}

async function wrongRows(sql: Sql): Promise<string[]> {
  type Row = { stream: number; seq: number; measurements: number; bytes: number }
  return (await sql.rows<Row>(WRONG_ROWS)).map(
    ({ stream, seq, measurements, bytes }) =>
      `stream ${stream}: row ${seq} says ${measurements} measurements and has ${bytes} bytes`,
  )
}
