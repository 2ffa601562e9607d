// Histories as text: JSON, CSV (RFC 4180) and NDJSON. Points are written straight as bytes: a year
// of hours is 8,760 of them, and as strings they cost more than reading them from the store.

import { writeAscii, writeDigits, writeNumber } from '../../domain/digits.ts'
import type { BucketPoint, HistoryPoint } from '../../domain/history.ts'
import { DAY_MS, SECOND_MS, floorToWindow, formatInstant } from '../../domain/time.ts'
import type { DurationMs, EpochMs } from '../../domain/time.ts'
import type { History } from '../../history/read-history.ts'
import type { HistoryResponse } from '../../../schemas/messages.d.ts'

/** How a history is written. `head` and `tail` enclose the points of all chunks. */
export interface HistoryFormat {
  readonly name: 'json' | 'csv' | 'ndjson'
  readonly contentType: string
  head(history: History): string
  /** A writer of one history's points, chunk after chunk. */
  pointWriter(): (points: readonly HistoryPoint[]) => Buffer
  readonly tail: string
}

/** The longest point: 66 of names, an instant of 24, three numbers of 25 and a count of 16. */
const POINT_BYTES_MAX = 192

const COMMA = 44
const DOT = 46
const COLON = 58
const LATIN_Z = 90

const jsonFormat: HistoryFormat = {
  name: 'json',
  contentType: 'application/json; charset=utf-8',
  head: (history) => `{"data":${JSON.stringify(presentEnvelope(history)).slice(0, -1)},"points":[`,
  pointWriter: () => {
    const writeInstant = instantWriter()
    let isFirst = true
    return chunkWriter((bytes, at, point) => {
      const start = isFirst ? at : writeAscii(bytes, at, ',')
      isFirst = false
      return writeJsonPoint(bytes, start, point, writeInstant)
    })
  },
  tail: ']}}',
}

const ndjsonFormat: HistoryFormat = {
  name: 'ndjson',
  contentType: 'application/x-ndjson; charset=utf-8',
  head: () => '',
  pointWriter: () => {
    const writeInstant = instantWriter()
    return chunkWriter((bytes, at, point) =>
      writeAscii(bytes, writeJsonPoint(bytes, at, point, writeInstant), '\n'),
    )
  },
  tail: '',
}

const csvFormat: HistoryFormat = {
  name: 'csv',
  contentType: 'text/csv; charset=utf-8; header=present',
  head: ({ question }) =>
    question.bucket === 'raw' ? 'timestamp,temp\r\n' : 'timestamp,temp,min,max,count\r\n',
  pointWriter: () => {
    const writeInstant = instantWriter()
    return chunkWriter((bytes, at, point) => writeCsvPoint(bytes, at, point, writeInstant))
  },
  tail: '',
}

/** By media type; the first one is what a client gets that accepts none or any of them. */
export const HISTORY_FORMATS: ReadonlyMap<string, HistoryFormat> = new Map([
  ['application/json', jsonFormat],
  ['text/csv', csvFormat],
  ['application/x-ndjson', ndjsonFormat],
])

function presentEnvelope({
  sensor,
  question,
  isComplete,
}: History): Omit<HistoryResponse['data'], 'points'> {
  return {
    sensor: {
      id: sensor.id,
      sn: sensor.serialNumber,
      alias: sensor.alias,
      compensation: sensor.compensationCelsius,
    },
    from: formatInstant(question.fromMs),
    to: formatInstant(question.toMs),
    bucket: question.bucket,
    tz: question.timeZone,
    complete: isComplete,
  }
}

/** Writes something at a place in bytes, and returns where it ends. */
type Writer<Value> = (bytes: Buffer, at: number, value: Value) => number

function chunkWriter(write: Writer<HistoryPoint>): (points: readonly HistoryPoint[]) => Buffer {
  return (points) => {
    const bytes = Buffer.allocUnsafeSlow(points.length * POINT_BYTES_MAX)
    let end = 0
    for (const point of points) end = write(bytes, end, point)
    return bytes.subarray(0, end)
  }
}

function writeJsonPoint(
  bytes: Buffer,
  start: number,
  point: HistoryPoint,
  writeInstant: Writer<EpochMs>,
): number {
  let at = writeAscii(bytes, start, '{"timestamp":"')
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
  writeInstant: Writer<EpochMs>,
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

/** Writes instants; points of one day, which come together, share the work of its date. */
function instantWriter(): Writer<EpochMs> {
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

function writeTimeOfDay(bytes: Buffer, start: number, ms: DurationMs): number {
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
