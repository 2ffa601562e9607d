// Histories as text: JSON, CSV (RFC 4180) and NDJSON. Points are put together by hand, not by way
// of objects: a year of hours is 8,760 of them.

import type { BucketPoint, HistoryPoint } from '../../domain/history.ts'
import { DAY_MS, floorToWindow, formatInstant } from '../../domain/time.ts'
import type { EpochMs } from '../../domain/time.ts'
import type { History } from '../../history/read-history.ts'
import type { HistoryResponse } from '../../../schemas/messages.d.ts'

/** How a history is written. `head` and `tail` enclose the points of all chunks. */
export interface HistoryFormat {
  readonly name: 'json' | 'csv' | 'ndjson'
  readonly contentType: string
  head(history: History): string
  /** A writer of one history's points, chunk after chunk. */
  pointWriter(): (points: readonly HistoryPoint[]) => string
  readonly tail: string
}

const jsonFormat: HistoryFormat = {
  name: 'json',
  contentType: 'application/json; charset=utf-8',
  head: (history) => `{"data":${JSON.stringify(presentEnvelope(history)).slice(0, -1)},"points":[`,
  pointWriter: () => {
    const instant = instantWriter()
    let separator = ''
    return (points) => {
      let text = ''
      for (const point of points) {
        text += separator + jsonPoint(point, instant)
        separator = ','
      }
      return text
    }
  },
  tail: ']}}',
}

const ndjsonFormat: HistoryFormat = {
  name: 'ndjson',
  contentType: 'application/x-ndjson; charset=utf-8',
  head: () => '',
  pointWriter: () => {
    const instant = instantWriter()
    return (points) => {
      let text = ''
      for (const point of points) text += `${jsonPoint(point, instant)}\n`
      return text
    }
  },
  tail: '',
}

const csvFormat: HistoryFormat = {
  name: 'csv',
  contentType: 'text/csv; charset=utf-8; header=present',
  head: ({ question }) =>
    question.bucket === 'raw' ? 'timestamp,temp\r\n' : 'timestamp,temp,min,max,count\r\n',
  pointWriter: () => {
    const instant = instantWriter()
    return (points) => {
      let text = ''
      for (const point of points) text += csvPoint(point, instant)
      return text
    }
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

function jsonPoint(point: HistoryPoint, instant: InstantWriter): string {
  if (!isBucket(point)) {
    return `{"timestamp":"${instant(point.measuredAtMs)}","temp":${point.temp}}`
  }
  const { temp, min, max, count } = point
  const start = instant(point.startMs)
  return `{"timestamp":"${start}","temp":${temp},"min":${min},"max":${max},"count":${count}}`
}

function csvPoint(point: HistoryPoint, instant: InstantWriter): string {
  if (!isBucket(point)) return `${instant(point.measuredAtMs)},${point.temp}\r\n`
  const { startMs, temp, min, max, count } = point
  return `${instant(startMs)},${temp ?? ''},${min ?? ''},${max ?? ''},${count}\r\n`
}

function isBucket(point: HistoryPoint): point is BucketPoint {
  return 'startMs' in point
}

type InstantWriter = (atMs: EpochMs) => string

/** Writes instants; points of one day, which come together, share the work of its date. */
function instantWriter(): InstantWriter {
  let dayMs = NaN
  let date = ''
  return (atMs) => {
    const startMs = floorToWindow(atMs, DAY_MS)
    if (startMs !== dayMs) {
      dayMs = startMs
      date = formatInstant(startMs).slice(0, -'00:00:00.000Z'.length)
    }
    return `${date}${timeOfDay(atMs - startMs)}Z`
  }
}

function timeOfDay(ms: number): string {
  const seconds = Math.floor(ms / 1_000)
  const minutes = Math.floor(seconds / 60)
  const hour = twoDigits(Math.floor(minutes / 60))
  return `${hour}:${twoDigits(minutes % 60)}:${twoDigits(seconds % 60)}.${threeDigits(ms % 1_000)}`
}

function twoDigits(value: number): string {
  return value < 10 ? `0${value}` : `${value}`
}

function threeDigits(value: number): string {
  return value < 100 ? `0${twoDigits(value)}` : `${value}`
}
