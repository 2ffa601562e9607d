// Reads a CSV or NDJSON file record by record, in bounded memory. A malformed record is returned
// with its fault; only text that is not UTF-8 ends the reading.

import { OperationError } from '../../operations/failure.ts'
import type { ByteSource } from './byte-source.ts'
import { CsvRecords, delimiterOf } from './csv.ts'
import type { CsvRecord, Delimiter, Line } from './csv.ts'

/** One record of the file: the values of its columns, or its fault. */
export interface FileRecord {
  /** The line of the file on which it starts, from 1. */
  readonly line: number
  /** As in the file, without the line ending. */
  readonly raw: string
  readonly values: Readonly<Record<string, unknown>> | undefined
  readonly fault?: string
}

export interface RecordSource {
  readonly format: 'csv' | 'ndjson'
  /** Column names, from the CSV header or the first NDJSON object. */
  readonly columns: readonly string[]
  /** The separator of CSV cells. */
  readonly delimiter: Delimiter
  /** The CSV header as in the file. */
  readonly header: string
  /** @param onBytes called for each part of the file that was read */
  records(onBytes: OnBytes): AsyncIterable<FileRecord>
}

type OnBytes = (bytes: number) => void

const RECORD_CHARACTERS_MAX = 65_536

/**
 * Inspects the beginning of a file: whether it is NDJSON or CSV, and its columns.
 *
 * @throws OperationError if it is empty or not UTF-8
 */
export async function openRecords(source: ByteSource): Promise<RecordSource> {
  const beginning = () => readText(source.name, source.look())
  const text = (onBytes: OnBytes) => readText(source.name, source.read(), onBytes)
  const format = await detectFormat(source.name, beginning())
  if (format === 'ndjson') {
    const columns = await findMembers(source.name, beginning())
    const records = (onBytes: OnBytes) => readNdjson(text(onBytes))
    return { format, columns, delimiter: ',', header: '', records }
  }
  const delimiter = await findDelimiter(beginning())
  const header = await firstOf(readCsv(beginning(), delimiter, undefined))
  const columns = Object.values(header?.values ?? {}).map(String)
  const records = (onBytes: OnBytes) => readCsv(text(onBytes), delimiter, columns)
  return { format, columns, delimiter, header: header?.raw ?? '', records }
}

/** The members of the first object, and `event_id`, which not every object needs. */
async function findMembers(file: string, text: AsyncIterable<string>): Promise<string[]> {
  for await (const { values } of readNdjson(text)) {
    if (values === undefined) continue
    const members = Object.keys(values)
    return members.some((name) => /event.?id/i.test(name)) ? members : [...members, 'event_id']
  }
  throw failed(`${file} has no JSON object`)
}

async function detectFormat(file: string, text: AsyncIterable<string>): Promise<'csv' | 'ndjson'> {
  for await (const part of text) {
    const start = part.trimStart()
    if (start !== '') return start.startsWith('{') ? 'ndjson' : 'csv'
  }
  throw failed(`${file} is empty`)
}

async function findDelimiter(text: AsyncIterable<string>): Promise<Delimiter> {
  for await (const line of readLines(text))
    if (line.text.trim() !== '') return delimiterOf(line.text)
  return ','
}

async function firstOf<T>(values: AsyncIterable<T>): Promise<T | undefined> {
  for await (const value of values) return value
  return undefined
}

async function* readText(
  file: string,
  chunks: AsyncIterable<Buffer>,
  onBytes?: OnBytes,
): AsyncIterable<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  try {
    for await (const chunk of chunks) {
      yield decoder.decode(chunk, { stream: true })
      onBytes?.(chunk.length)
    }
    yield decoder.decode()
  } catch (error) {
    if (error instanceof TypeError) throw failed(`${file} is not UTF-8 text`, error)
    throw error
  }
}

/** Lines without their line feed. */
async function* readLines(text: AsyncIterable<string>): AsyncIterable<Line> {
  let number = 0
  let rest = ''
  for await (const part of text) {
    const lines = (rest + part).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > RECORD_CHARACTERS_MAX) throw tooLong(number + 1)
    for (const line of lines) yield { number: ++number, text: line }
  }
  if (rest !== '') yield { number: number + 1, text: rest }
}

async function* readNdjson(text: AsyncIterable<string>): AsyncIterable<FileRecord> {
  for await (const { number, text: raw } of readLines(text)) {
    if (raw.trim() !== '') yield parseObject(number, raw.trim())
  }
}

function parseObject(line: number, raw: string): FileRecord {
  try {
    const value: unknown = JSON.parse(raw)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return { line, raw, values: { ...value } }
    }
  } catch (error) {
    return { line, raw, values: undefined, fault: `not JSON: ${(error as Error).message}` }
  }
  return { line, raw, values: undefined, fault: 'not a JSON object' }
}

/** @param columns names of the columns; `undefined`: return the header itself as a record */
async function* readCsv(
  text: AsyncIterable<string>,
  delimiter: Delimiter,
  columns: readonly string[] | undefined,
): AsyncIterable<FileRecord> {
  const csv = new CsvRecords(delimiter, RECORD_CHARACTERS_MAX)
  let isHeader = columns !== undefined
  for await (const line of readLines(text)) {
    for (const record of csv.add(line)) {
      if (!isHeader) yield nameCells(record, columns)
      isHeader = false
    }
  }
  for (const record of csv.end()) yield nameCells(record, columns)
}

function nameCells(record: CsvRecord, columns: readonly string[] | undefined): FileRecord {
  const { line, raw, cells, fault } = record
  if (cells === undefined) return { line, raw, values: undefined, fault }
  if (columns !== undefined && cells.length !== columns.length) {
    const wrong = `${cells.length} columns where the header has ${columns.length}`
    return { line, raw, values: undefined, fault: wrong }
  }
  const values: Record<string, unknown> = {}
  for (const [index, value] of cells.entries()) values[columns?.[index] ?? String(index)] = value
  return { line, raw, values }
}

function tooLong(line: number): OperationError {
  return failed(`line ${line} is longer than ${RECORD_CHARACTERS_MAX} characters`)
}

function failed(message: string, cause?: unknown): OperationError {
  return new OperationError({ kind: 'failed', message }, { cause })
}
