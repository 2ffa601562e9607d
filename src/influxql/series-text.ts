// Responses in InfluxDB 1's JSON format: one result, with its series one after another.

import { setImmediate } from 'node:timers/promises'
import type { MeasurementReader } from '../ports/measurement-store.ts'

/** A value of a row; text only in statements that show names. */
export type Value = number | string | boolean | null

export type Row = readonly Value[]

export interface Series {
  readonly name: string
  readonly tags: Readonly<Record<string, string>>
  readonly columns: readonly string[]
  /** In chunks, iterated once. A series without rows is left out. */
  readonly rows: AsyncIterable<readonly Row[]>
}

/**
 * Counts and reads what a statement asks for, whose other limits have been checked.
 *
 * @throws StatementError if there is too much
 */
export type ReadSeries = (reader: MeasurementReader) => Promise<AsyncIterable<Series>>

/** Characters per piece; other work runs between pieces. */
const PIECE_CHARACTERS = 16 * 1024

/** @param warning about the data shown */
export async function* answerText(
  series: AsyncIterable<Series>,
  warning?: string,
): AsyncIterable<Buffer> {
  let piece = ''
  for await (const text of textsOf(series, warning)) {
    piece += text
    if (piece.length < PIECE_CHARACTERS) continue
    yield Buffer.from(piece)
    piece = ''
    await setImmediate()
  }
  yield Buffer.from(piece)
}

async function* textsOf(
  series: AsyncIterable<Series>,
  warning: string | undefined,
): AsyncIterable<string> {
  yield '{"results":[{"statement_id":0'
  let before = ',"series":['
  for await (const one of series) {
    let isFirst = true
    for await (const rows of one.rows) {
      if (rows.length === 0) continue
      const begin = isFirst ? `${before}${opened(one)}` : ','
      yield begin + rows.map((row) => JSON.stringify(row)).join(',')
      isFirst = false
    }
    if (isFirst) continue
    yield ']}'
    before = ','
  }
  const messages = warning === undefined ? [] : [{ level: 'warning', text: warning }]
  const end = messages.length > 0 ? `,"messages":${JSON.stringify(messages)}` : ''
  yield `${before === ',' ? ']' : ''}${end}}]}\n`
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

const CHUNK_ROWS = 1_000

async function* inChunks(rows: readonly Row[]): AsyncIterable<readonly Row[]> {
  for (let at = 0; at < rows.length; at += CHUNK_ROWS) yield rows.slice(at, at + CHUNK_ROWS)
}
