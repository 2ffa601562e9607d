// Histories as text: JSON, CSV (RFC 4180) and NDJSON. Points are written directly as bytes: a year
// by hour has 8,760 of them, and building strings would cost more than reading them from the store.

import { writeAscii, writeDigits, writeNumber } from '../../bytes/digits.ts'
import type { BucketPoint, HistoryPoint, ResolvedQuestion } from '../../domain/history.ts'
import { DAY_MS, SECOND_MS, floorToWindow, formatInstant } from '../../domain/time.ts'
import type { History } from '../../history/read-history.ts'
import type { HistoryResponse } from '../../../schemas/messages.d.ts'

/** How histories are written. */
export interface HistoryFormat {
  readonly name: 'json' | 'csv' | 'ndjson'
  readonly contentType: string
  /** The history of one sensor. */
  one(history: History): AsyncIterable<Buffer>
  /** Histories of several sensors for one question. */
  several(histories: readonly History[], question: ResolvedQuestion): AsyncIterable<Buffer>
}

/**
 * The longest point: 66 bytes of names, an instant of 24, three numbers of 25 and a count of 16.
 */
const POINT_BYTES_MAX = 192

const COMMA = 44
const DOT = 46
const COLON = 58
const LATIN_Z = 90

const jsonFormat: HistoryFormat = {
  name: 'json',
  contentType: 'application/json; charset=utf-8',
  async *one(history) {
    yield Buffer.from(`{"data":${opened(presentSeries(history))}`)
    yield* chunksOf(history, jsonPointWriter, '{')
    yield Buffer.from(']}}')
  },
  async *several(histories, question) {
    yield Buffer.from(
      `{"data":${JSON.stringify(presentQuestion(question)).slice(0, -1)},"series":[`,
    )
    for (const [at, history] of histories.entries()) {
      const { sensor, complete } = presentSeries(history)
      yield Buffer.from(`${at === 0 ? '' : ','}${opened({ sensor, complete })}`)
      yield* chunksOf(history, jsonPointWriter, '{')
      yield Buffer.from(']}')
    }
    yield Buffer.from(']}}')
  },
}

const ndjsonFormat: HistoryFormat = {
  name: 'ndjson',
  contentType: 'application/x-ndjson; charset=utf-8',
  one: (history) => chunksOf(history, ndjsonPointWriter, '{'),
  async *several(histories) {
    for (const history of histories) {
      const { id, serialNumber } = history.sensor
      const start = `{"sensor_id":${id},"sn":"${serialNumber}",`
      yield* chunksOf(history, ndjsonPointWriter, start)
    }
  },
}

const csvFormat: HistoryFormat = {
  name: 'csv',
  contentType: 'text/csv; charset=utf-8; header=present',
  async *one(history) {
    yield Buffer.from(csvHead(history.question))
    yield* chunksOf(history, csvPointWriter, '')
  },
  async *several(histories, question) {
    yield Buffer.from(`sensor_id,sn,${csvHead(question)}`)
    for (const history of histories) {
      const { id, serialNumber } = history.sensor
      yield* chunksOf(history, csvPointWriter, `${id},${serialNumber},`)
    }
  },
}

/** By media type; clients that accept none or all of them get the first. */
export const HISTORY_FORMATS: ReadonlyMap<string, HistoryFormat> = new Map([
  ['application/json', jsonFormat],
  ['text/csv', csvFormat],
  ['application/x-ndjson', ndjsonFormat],
])

/** The text of an object up to its points, which are its last member. */
function opened(envelope: object): string {
  return `${JSON.stringify(envelope).slice(0, -1)},"points":[`
}

function presentSeries({
  sensor,
  question,
  isComplete,
}: History): Omit<HistoryResponse['data'], 'points'> {
  const { id, serialNumber: sn, alias, compensationCelsius: compensation } = sensor
  return {
    sensor: { id, sn, alias, compensation },
    ...presentQuestion(question),
    complete: isComplete,
  }
}

function presentQuestion({ fromMs, toMs, bucket, timeZone }: ResolvedQuestion) {
  return { from: formatInstant(fromMs), to: formatInstant(toMs), bucket, tz: timeZone }
}

function csvHead({ bucket }: ResolvedQuestion): string {
  return bucket === 'raw' ? 'timestamp,temp\r\n' : 'timestamp,temp,min,max,count\r\n'
}

/** @param start text at the start of each point, before its own members or columns */
async function* chunksOf(
  { points }: History,
  pointWriter: (start: string) => Writer<HistoryPoint>,
  start: string,
): AsyncIterable<Buffer> {
  const write = pointWriter(start)
  for await (const chunk of points) {
    const bytes = Buffer.allocUnsafeSlow(chunk.length * (POINT_BYTES_MAX + start.length))
    let end = 0
    for (const point of chunk) end = write(bytes, end, point)
    yield bytes.subarray(0, end)
  }
}

/** Writes something at a position in the bytes, and returns its end. */
type Writer<Value> = (bytes: Buffer, at: number, value: Value) => number

function jsonPointWriter(start: string): Writer<HistoryPoint> {
  const writeInstant = instantWriter()
  let isFirst = true
  return (bytes, at, point) => {
    const comma = isFirst ? at : writeAscii(bytes, at, ',')
    isFirst = false
    return writeJsonPoint(bytes, writeAscii(bytes, comma, start), point, writeInstant)
  }
}

function ndjsonPointWriter(start: string): Writer<HistoryPoint> {
  const writeInstant = instantWriter()
  return (bytes, at, point) => {
    const end = writeJsonPoint(bytes, writeAscii(bytes, at, start), point, writeInstant)
    return writeAscii(bytes, end, '\n')
  }
}

function csvPointWriter(start: string): Writer<HistoryPoint> {
  const writeInstant = instantWriter()
  return (bytes, at, point) =>
    writeCsvPoint(bytes, writeAscii(bytes, at, start), point, writeInstant)
}

/** Writes an object without its opening brace. */
function writeJsonPoint(
  bytes: Buffer,
  start: number,
  point: HistoryPoint,
  writeInstant: Writer<number>,
): number {
  let at = writeAscii(bytes, start, '"timestamp":"')
  at = writeInstant(bytes, at, isBucket(point) ? point.startMs : point.measuredAtMs)
  at = writeAscii(bytes, at, '","temp":')
  at = writeJsonNumber(bytes, at, point.temp)
  if (isBucket(point)) {
    at = writeAscii(bytes, at, ',"min":')
    at = writeJsonNumber(bytes, at, point.min)
    at = writeAscii(bytes, at, ',"max":')
    at = writeJsonNumber(bytes, at, point.max)
    at = writeAscii(bytes, at, ',"count":')
    at = writeNumber(bytes, at, point.count)
  }
  return writeAscii(bytes, at, '}')
}

function writeJsonNumber(bytes: Buffer, at: number, value: number | null): number {
  return value === null ? writeAscii(bytes, at, 'null') : writeNumber(bytes, at, value)
}

function writeCsvPoint(
  bytes: Buffer,
  start: number,
  point: HistoryPoint,
  writeInstant: Writer<number>,
): number {
  let at = writeInstant(bytes, start, isBucket(point) ? point.startMs : point.measuredAtMs)
  for (const value of isBucket(point)
    ? [point.temp, point.min, point.max, point.count]
    : [point.temp]) {
    bytes[at++] = COMMA
    if (value !== null) at = writeNumber(bytes, at, value)
  }
  return writeAscii(bytes, at, '\r\n')
}

function isBucket(point: HistoryPoint): point is BucketPoint {
  return 'startMs' in point
}

/** Writes instants; consecutive points of the same day share the work on its date. */
function instantWriter(): Writer<number> {
  let dayMs = NaN
  let date = ''
  return (bytes, at, atMs) => {
    const startMs = floorToWindow(atMs, DAY_MS)
    if (startMs !== dayMs) {
      dayMs = startMs
      date = formatInstant(startMs).slice(0, -'00:00:00.000Z'.length)
    }
    return writeTimeOfDay(bytes, writeAscii(bytes, at, date), atMs - startMs)
  }
}

function writeTimeOfDay(bytes: Buffer, start: number, ms: number): number {
  const seconds = Math.floor(ms / SECOND_MS)
  const minutes = Math.floor(seconds / 60)
  let at = writeDigits(bytes, start, Math.floor(minutes / 60), 2)
  bytes[at++] = COLON
  at = writeDigits(bytes, at, minutes % 60, 2)
  bytes[at++] = COLON
  at = writeDigits(bytes, at, seconds % 60, 2)
  bytes[at++] = DOT
  at = writeDigits(bytes, at, ms % SECOND_MS, 3)
  bytes[at++] = LATIN_Z
  return at
}
