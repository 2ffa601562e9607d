// A year of minutes read from InfluxDB as the service reads it, by turns with Flux sent by hand,
// whose response is only counted: the same query for raw values and quarters of an hour over two
// weeks, and for hours over the year what people write, a union of four aggregates. And a day of a
// fleet, all sensors in one question, by turns with a question for each of them.

import { InfluxConnection } from '../src/influx/connection.ts'
import { rawQuery, windowsQuery } from '../src/influx/flux.ts'
import { InfluxMeasurementReader } from '../src/influx/measurement-reader.ts'
import { hasInfluxd } from '../test/support/influxd.ts'
import type { InfluxServer } from '../test/support/influxd.ts'
import { BUCKET, withInfluxd } from './influx.ts'
import { median, milliseconds, say } from './report.ts'
import type { Figure } from './report.ts'

const MINUTE_MS = 60_000
const WINDOW_MS = 15 * MINUTE_MS
const START_MS = Date.UTC(2026, 0, 5)
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const TWO_WEEKS = { sensorIds: [1], startMs: START_MS, stopMs: START_MS + 14 * DAY_MS }
const YEAR = { sensorIds: [1], startMs: START_MS, stopMs: START_MS + 365 * DAY_MS }
const FLEET = {
  sensorIds: Array.from({ length: 1_000 }, (_, at) => at + 2),
  startMs: START_MS,
  stopMs: START_MS + DAY_MS,
}
const LINES_AT_ONCE = 10_000
const ROUNDS = 15
const TIMEOUT_MS = 30_000

const HOURS_BY_HAND = `
data = () => from(bucket: "${BUCKET}")
  |> range(start: ${time(YEAR.startMs)}, stop: ${time(YEAR.stopMs)})
  |> filter(fn: (r) => r._measurement == "temperature" and r._field == "temp")
  |> filter(fn: (r) => r.sensor_id == "1")
hours = (tables=<-, fn, name) => tables
  |> aggregateWindow(every: 1h, fn: fn, createEmpty: false)
  |> toFloat()
  |> set(key: "_field", value: name)
union(tables: [
  data() |> hours(fn: mean, name: "mean"),
  data() |> hours(fn: min, name: "min"),
  data() |> hours(fn: max, name: "max"),
  data() |> hours(fn: count, name: "count"),
])`

export async function measureInfluxHistory(): Promise<Figure[]> {
  if (!hasInfluxd()) {
    say('not measured, for want of a command influxd: history from InfluxDB')
    return []
  }
  return withInfluxd(measureReads)
}

async function measureReads(server: InfluxServer): Promise<Figure[]> {
  say('a year of minutes from InfluxDB')
  const target = { ...server, influxBucket: BUCKET }
  const connection = new InfluxConnection(target, { socketsMax: 4, timeoutMs: TIMEOUT_MS })
  const reader = new InfluxMeasurementReader(connection)
  await writeMinutes(connection, server.organization)
  await writeFleet(connection, server.organization)
  const byHand = (query: string) => readByHand(connection, server.organization, query)
  const figures = [
    await compare(
      'two weeks of minutes from InfluxDB, raw; beside the same Flux by hand',
      () => drain(reader.readRaw(TWO_WEEKS)),
      () => byHand(rawQuery(BUCKET, TWO_WEEKS)),
    ),
    await compare(
      'and in windows of 15 minutes',
      () => drain(reader.readWindows(TWO_WEEKS, WINDOW_MS)),
      () => byHand(windowsQuery(BUCKET, TWO_WEEKS, WINDOW_MS)),
    ),
    await compare(
      'a year of minutes by hour; beside a union of aggregateWindow',
      () => drain(reader.readWindows(YEAR, HOUR_MS)),
      () => byHand(HOURS_BY_HAND),
    ),
    await compare(
      'a day of a thousand sensors by hour; beside a query for each, four at a time',
      () => drain(reader.readWindows(FLEET, HOUR_MS)),
      () => readEach(reader),
    ),
  ]
  connection.close()
  return figures
}

async function writeMinutes(connection: InfluxConnection, org: string): Promise<void> {
  const minutes = (YEAR.stopMs - YEAR.startMs) / MINUTE_MS
  for (let first = 0; first < minutes; first += LINES_AT_ONCE) {
    const length = Math.min(LINES_AT_ONCE, minutes - first)
    await writeLines(
      connection,
      org,
      Array.from({ length }, (_, at) => minuteLine(first + at)),
    )
  }
}

/** A measurement an hour of each sensor. */
async function writeFleet(connection: InfluxConnection, org: string): Promise<void> {
  const { sensorIds, startMs, stopMs } = FLEET
  for (let atMs = startMs; atMs < stopMs; atMs += HOUR_MS) {
    const lines = sensorIds.map((id) => `temperature,sensor_id=${id},user_id=1 temp=20.5 ${atMs}`)
    await writeLines(connection, org, lines)
  }
}

async function readEach(reader: InfluxMeasurementReader): Promise<void> {
  const left = FLEET.sensorIds.values()
  const readOn = async () => {
    for (const id of left) await drain(reader.readWindows({ ...FLEET, sensorIds: [id] }, HOUR_MS))
  }
  await Promise.all(Array.from({ length: 4 }, readOn))
}

function minuteLine(minute: number): string {
  const celsius = (minute % 977) / 8
  return `temperature,sensor_id=1,user_id=1 temp=${celsius} ${START_MS + minute * MINUTE_MS}`
}

async function writeLines(
  connection: InfluxConnection,
  org: string,
  lines: readonly string[],
): Promise<void> {
  const query = new URLSearchParams({ org, bucket: BUCKET, precision: 'ms' })
  const path = `/api/v2/write?${query.toString()}`
  const { status, body } = await connection.exchange({
    method: 'POST',
    path,
    body: lines.join('\n'),
  })
  if (status !== 204) throw new Error(`InfluxDB answered ${status}: ${body}`)
}

async function compare(
  name: string,
  ours: () => Promise<void>,
  yardstick: () => Promise<void>,
): Promise<Figure> {
  const oursMs: number[] = []
  const yardstickMs: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    yardstickMs.push(await timeOf(yardstick))
    oursMs.push(await timeOf(ours))
  }
  return {
    name,
    ours: milliseconds(median(oursMs)),
    yardstick: milliseconds(median(yardstickMs)),
    ratio: (median(oursMs) / median(yardstickMs)).toFixed(2),
  }
}

async function timeOf(work: () => Promise<void>): Promise<number> {
  const startedAtMs = performance.now()
  await work()
  return performance.now() - startedAtMs
}

async function readByHand(connection: InfluxConnection, org: string, query: string): Promise<void> {
  const { chunks } = await connection.stream({
    method: 'POST',
    path: `/api/v2/query?${new URLSearchParams({ org }).toString()}`,
    contentType: 'application/vnd.flux',
    body: query,
  })
  let bytes = 0
  for await (const chunk of chunks) bytes += chunk.length
  if (bytes < 1_000) throw new Error('there is no history in InfluxDB')
}

async function drain(chunks: AsyncIterable<readonly unknown[]>): Promise<void> {
  let count = 0
  for await (const chunk of chunks) count += chunk.length
  if (count === 0) throw new Error('there is no history in the reader')
}

function time(atMs: number): string {
  return new Date(atMs).toISOString()
}
