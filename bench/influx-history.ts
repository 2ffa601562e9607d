// Two weeks of minutes read from InfluxDB as the service reads them, by turns with the same Flux
// asked by hand, of which the answer is only counted.

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
const RANGE = { sensorId: 1, startMs: START_MS, stopMs: START_MS + 14 * 86_400_000 }
const ROUNDS = 15
const TIMEOUT_MS = 30_000

export async function measureInfluxHistory(): Promise<Figure[]> {
  if (!hasInfluxd()) {
    say('not measured, for want of a command influxd: history from InfluxDB')
    return []
  }
  return withInfluxd(measureReads)
}

async function measureReads(server: InfluxServer): Promise<Figure[]> {
  say('two weeks of minutes from InfluxDB')
  const target = { ...server, influxBucket: BUCKET }
  const connection = new InfluxConnection(target, { socketsMax: 4, timeoutMs: TIMEOUT_MS })
  const reader = new InfluxMeasurementReader(connection)
  await writeMinutes(connection, server.organization)
  const byHand = (query: string) => readByHand(connection, server.organization, query)
  const figures = [
    await compare(
      'two weeks of minutes from InfluxDB, raw; beside the same Flux by hand',
      () => drain(reader.readRaw(RANGE)),
      () => byHand(rawQuery(BUCKET, RANGE)),
    ),
    await compare(
      'and in windows of 15 minutes',
      () => drain(reader.readWindows(RANGE, WINDOW_MS)),
      () => byHand(windowsQuery(BUCKET, RANGE, WINDOW_MS)),
    ),
  ]
  connection.close()
  return figures
}

async function writeMinutes(connection: InfluxConnection, org: string): Promise<void> {
  const lines: string[] = []
  for (let atMs = RANGE.startMs; atMs < RANGE.stopMs; atMs += MINUTE_MS) {
    const celsius = ((atMs / MINUTE_MS) % 977) / 8
    lines.push(`temperature,sensor_id=1,user_id=1 temp=${celsius} ${atMs}`)
  }
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
