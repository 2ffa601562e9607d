// Streams the response to a Flux query: rows of `_time` and `_value`, and of `sensor_id` if asked
// for, one result and one sensor after the other.
// 600,000 rows take a fraction of a second and hardly any memory.
//
// InfluxDB sends status 200 before it has computed anything. A later failure appears as a separate
// table in the middle of the response, with the columns `error` and `reference`, and throws here.

import { setImmediate } from 'node:timers/promises'
import { parseInstant } from '../domain/time.ts'
import { readFailure } from './connection.ts'
import type { InfluxConnection } from './connection.ts'

/** Consecutive rows of one table; index i of both belongs to one row. */
export interface FluxRows {
  /** The name of its result in the query's `yield`. */
  readonly result: string
  /** NaN if it is not asked for. */
  readonly sensorId: number
  readonly timesMs: readonly number[]
  readonly values: readonly number[]
}

interface GrowingRows extends FluxRows {
  readonly timesMs: number[]
  readonly values: number[]
}

/** InfluxDB failed the query, at once or part-way. */
export class FluxFailure extends Error {
  /** 200 if it failed part-way. */
  readonly status: number

  constructor(message: string, status: number) {
    super(message)
    this.name = 'FluxFailure'
    this.status = status
  }
}

/** Characters read at once; other work runs between such pieces. */
const PIECE_CHARACTERS = 32 * 1024

const HEADERS = [',result,table,_time,_value', ',result,table,_time,_value,sensor_id']
const SENSOR_COLUMN = 5
const NO_ROW = [',result,', ',error,']
const ERROR_HEADER = /^,?error,reference/
const DIALECT = { header: true, annotations: [], delimiter: ',', quoteChar: '"' }

/**
 * Runs a query whose results all have the columns `_time` and `_value`, and `sensor_id` or not.
 *
 * @throws FluxFailure, InfluxUnreachable; also after some rows
 */
export async function* queryRows(
  connection: InfluxConnection,
  query: string,
): AsyncGenerator<readonly FluxRows[]> {
  const org = new URLSearchParams({ org: connection.target.organization }).toString()
  const { status, chunks } = await connection.stream({
    method: 'POST',
    path: `/api/v2/query?${org}`,
    contentType: 'application/json',
    body: JSON.stringify({ query, type: 'flux', dialect: DIALECT }),
  })
  if (status !== 200) throw new FluxFailure(readFailure(await readStart(chunks)).message, status)
  yield* parseRows(chunks)
}

/** @throws FluxFailure at an error table, Error at unexpected columns */
export async function* parseRows(
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<readonly FluxRows[]> {
  let text = ''
  for await (const chunk of chunks) {
    // Numbers and times are ASCII; an error message may be slightly garbled.
    text += chunk.toString('latin1')
    if (text.length < PIECE_CHARACTERS) continue
    await setImmediate()
    const end = text.lastIndexOf('\n') + 1
    yield [...parseLines(text, end)]
    text = text.slice(end)
  }
  // Every line ends with a line feed; a truncated response is an error of the connection.
  yield [...parseLines(`${text}\n`, text.length + 1)]
}

function* parseLines(text: string, end: number): Generator<FluxRows> {
  let rows: GrowingRows = { result: '', sensorId: NaN, timesMs: [], values: [] }
  /** What all lines of the table of `rows` begin with: `,result,table,`. */
  let table = '-'
  for (let start = 0; start < end;) {
    const stop = text.indexOf('\n', start)
    if (isRow(text, start)) {
      if (!text.startsWith(table, start)) {
        yield* filled(rows)
        const nameEnd = text.indexOf(',', start + 1)
        table = text.slice(start, text.indexOf(',', nameEnd + 1) + 1)
        const result = text.slice(start + 1, nameEnd)
        rows = { result, sensorId: sensorOf(text.slice(start, stop)), timesMs: [], values: [] }
      }
      const timeAt = start + table.length
      const valueAt = text.indexOf(',', timeAt) + 1
      const sensorAt = text.indexOf(',', valueAt)
      const valueEnd = sensorAt === -1 || sensorAt > stop ? stop : sensorAt
      rows.timesMs.push(readInstant(text.slice(timeAt, valueAt - 1)))
      rows.values.push(Number(text.slice(valueAt, valueEnd)))
    } else {
      checkHeader(text.slice(start, stop).trimEnd(), text.slice(stop + 1))
    }
    start = stop + 1
  }
  yield* filled(rows)
}

/** NaN in a line without that column. */
function sensorOf(line: string): number {
  return Number(line.split(',')[SENSOR_COLUMN])
}

function readInstant(text: string): number {
  const atMs = parseInstant(text)
  if (atMs === undefined) throw new Error(`BUG: a time of InfluxDB: ${text.slice(0, 100)}`)
  return atMs
}

function filled(rows: FluxRows): FluxRows[] {
  return rows.values.length > 0 ? [rows] : []
}

/** Rows begin with a comma and the name of their result, which is not one of these. */
function isRow(text: string, start: number): boolean {
  return text[start] === ',' && !NO_ROW.some((name) => text.startsWith(name, start))
}

function checkHeader(line: string, following: string): void {
  if (line === '' || HEADERS.includes(line)) return
  if (ERROR_HEADER.test(line))
    throw new FluxFailure(following.trim() || 'failed in the middle of its answer', 200)
  throw new Error(`BUG: columns of an answer of InfluxDB: ${line.slice(0, 200)}`)
}

async function readStart(chunks: AsyncIterable<Buffer>): Promise<string> {
  let text = ''
  for await (const chunk of chunks) {
    text += chunk.toString('utf8')
    if (text.length > 65_536) break
  }
  return text
}
