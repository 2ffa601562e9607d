// Responses in InfluxDB 1's JSON format: the results, with their series one after another.

import { setImmediate } from 'node:timers/promises'
import type { TimeRange } from '../domain/time.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'
import type { Row, RowText } from './row-text.ts'

export interface Series {
  readonly name: string
  readonly tags: Readonly<Record<string, string>>
  readonly columns: readonly string[]
  /** In chunks, iterated once. A series without rows is left out. */
  readonly rows: AsyncIterable<readonly Row[]>
}

/** What a statement asks of the store; limits that need no store have been checked. */
export interface Reading {
  readonly range: TimeRange
  /**
   * Counts before it reads.
   *
   * @throws StatementError if there is too much
   */
  readonly read: (reader: MeasurementReader) => Promise<AsyncIterable<Series>>
}

/** The answer to a statement. */
export interface Result {
  readonly series: AsyncIterable<Series>
  /** About what is shown. */
  readonly warnings: readonly string[]
}

/** Characters per piece; other work runs between pieces. */
const PIECE_CHARACTERS = 16 * 1024

export async function* answerText(
  results: readonly Result[],
  timedText: RowText,
): AsyncIterable<Buffer> {
  let piece = '{"results":['
  for (const [id, { series, warnings }] of results.entries()) {
    piece += `${id === 0 ? '' : ','}{"statement_id":${id}`
    for await (const text of textsOf(series, timedText)) {
      piece += text
      if (piece.length < PIECE_CHARACTERS) continue
      yield Buffer.from(piece)
      piece = ''
      await setImmediate()
    }
    const messages = warnings.map((text) => ({ level: 'warning', text }))
    piece += messages.length > 0 ? `,"messages":${JSON.stringify(messages)}}` : '}'
  }
  yield Buffer.from(`${piece}]}\n`)
}

async function* textsOf(series: AsyncIterable<Series>, timedText: RowText): AsyncIterable<string> {
  let before = ',"series":['
  for await (const one of series) {
    const rowText = one.columns[0] === 'time' ? timedText : JSON.stringify
    let isFirst = true
    for await (const rows of one.rows) {
      if (rows.length === 0) continue
      const begin = isFirst ? `${before}${opened(one)}` : ','
      yield begin + rows.map((row) => rowText(row)).join(',')
      isFirst = false
    }
    if (isFirst) continue
    yield ']}'
    before = ','
  }
  if (before === ',') yield ']'
}

/** The text of a series before its rows, which are its last member. */
function opened({ name, tags, columns }: Series): string {
  const hasTags = Object.keys(tags).length > 0
  const head = { name, ...(hasTags && { tags }), columns }
  return `${JSON.stringify(head).slice(0, -1)},"values":[`
}

/** A series with all rows known. */
export function knownSeries(
  name: string,
  columns: readonly string[],
  rows: readonly Row[],
  tags: Series['tags'] = {},
): Series {
  return { name, tags, columns, rows: inChunks(rows) }
}

export async function* oneByOne(series: readonly Series[]): AsyncIterable<Series> {
  yield* series
}

const CHUNK_ROWS = 1_000

async function* inChunks(rows: readonly Row[]): AsyncIterable<readonly Row[]> {
  for (let at = 0; at < rows.length; at += CHUNK_ROWS) yield rows.slice(at, at + CHUNK_ROWS)
}

/** The first rows of a series. */
export async function* limited(
  chunks: AsyncIterable<readonly Row[]>,
  limit = Infinity,
): AsyncIterable<readonly Row[]> {
  let left = limit
  for await (const rows of chunks) {
    yield rows.length > left ? rows.slice(0, left) : rows
    left -= rows.length
    if (left <= 0) return
  }
}
