// Line protocol in bodies of 500 and 5,000 lines, plain and gzip, beside native batches of the same
// readings and, where there is an influxd, beside what that takes of the same bodies; by turns, on
// one service and one influxd.

import { setTimeout } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { hasInfluxd } from '../test/support/influxd.ts'
import type { InfluxServer } from '../test/support/influxd.ts'
import { BATCH, CONNECTIONS, expectAll } from './batch-load.ts'
import { serialNumber } from './bodies.ts'
import { BUCKET, withInfluxd } from './influx.ts'
import { postRequest, runLoad, writeUuid } from './load.ts'
import { median, perSecond, say } from './report.ts'
import type { Figure } from './report.ts'
import { startMeasured } from './service.ts'
import type { MeasuredService } from './service.ts'

const READINGS_PER_TURN = 160_000
const SECONDS_PER_TURN = 20
const SENSORS = 10 * CONNECTIONS
const START_MS = Date.UTC(2026, 0, 5)
const BODY_LINES = [500, 5_000]

interface Reading {
  readonly serialNumber: string
  readonly tempCelsius: number
  readonly atMs: number
}

/** Where a kind of body goes, and how it is written. */
interface Taker {
  readonly port: number
  readonly token: string
  readonly path: string
  readonly status: number
  readonly write: (readings: readonly Reading[]) => string
}

/** A taker and how its bodies are; rates are readings a second, one a turn. */
interface Lane {
  readonly taker: Taker
  readonly size: number
  readonly isGzip: boolean
  readonly rates: number[]
}

export async function measureLines(seconds: number): Promise<Figure[]> {
  const turns = Math.ceil(seconds / SECONDS_PER_TURN)
  if (hasInfluxd()) return withInfluxd((server) => measureBeside(turns, server))
  say('not measured, for want of a command influxd: what it takes of the same lines')
  return measureBeside(turns)
}

async function measureBeside(turns: number, server?: InfluxServer): Promise<Figure[]> {
  const service = await startMeasured()
  const groups = [false, true].map((isGzip) => lanesOf(service, server, isGzip))
  for (let turn = 0; turn < turns; turn++) {
    say(`line protocol and native batches, turn ${turn + 1} of ${turns}`)
    for (const lane of groups.flatMap((group) => [group.native, ...group.ours, ...group.influx])) {
      lane.rates.push(await loadOnce(lane))
      while ((await service.backlog()) > 0) await setTimeout(10)
    }
  }
  await service.stop()
  await service.remove()
  return groups.flatMap(({ native, ours, influx }) =>
    ours.flatMap((lane, at) => figuresOf(lane, native, influx[at])),
  )
}

function lanesOf(service: MeasuredService, server: InfluxServer | undefined, isGzip: boolean) {
  const { port, token } = service
  const lane = (taker: Taker, size: number): Lane => ({ taker, size, isGzip, rates: [] })
  const query = new URLSearchParams({ org: server?.organization ?? '', bucket: BUCKET })
  const lines = { path: `/api/v2/write?${query.toString()}`, status: 204, write: asLines }
  const batches = { path: '/api/v1/measurements/batch', status: 201, write: asBatch }
  const influx = server && {
    port: Number(new URL(server.url).port),
    token: server.influxToken,
    ...lines,
  }
  return {
    native: lane({ port, token, ...batches }, BATCH),
    ours: BODY_LINES.map((size) => lane({ port, token, ...lines }, size)),
    influx: influx === undefined ? [] : BODY_LINES.map((size) => lane(influx, size)),
  }
}

let clockMs = START_MS

/** @returns readings a second */
async function loadOnce({ taker, size, isGzip }: Lane): Promise<number> {
  const { port, token, path, status, write } = taker
  const requests: Buffer[] = []
  for (let count = 0; count < READINGS_PER_TURN; count += size) {
    const text = write(nextReadings(size))
    requests.push(postRequest(path, token, isGzip ? gzipSync(text) : text))
  }
  const count = requests.length
  const startedAtMs = performance.now()
  const { statuses } = await runLoad({
    port,
    connections: CONNECTIONS,
    seconds: Infinity,
    nextRequest: () => requests.pop(),
  })
  expectAll(statuses, status)
  return (count * size * 1_000) / (performance.now() - startedAtMs)
}

function nextReadings(count: number): Reading[] {
  return Array.from({ length: count }, (_, at) => ({
    serialNumber: serialNumber(at % SENSORS),
    tempCelsius: 20 + (at % 100) / 10,
    atMs: (clockMs += 1),
  }))
}

function asLines(readings: readonly Reading[]): string {
  return readings
    .map(
      ({ serialNumber: sn, tempCelsius, atMs }) => `w1,sn=${sn} temp=${tempCelsius} ${atMs}000000`,
    )
    .join('\n')
}

const UUID_BYTES = Buffer.alloc(36)

function asBatch(readings: readonly Reading[]): string {
  const measurements = readings.map(({ serialNumber: sn, tempCelsius: temp, atMs }) => {
    writeUuid(UUID_BYTES, 0)
    const timestamp = new Date(atMs).toISOString()
    return { event_id: UUID_BYTES.toString('latin1'), sn, temp, timestamp }
  })
  return JSON.stringify({ measurements })
}

function figuresOf(lane: Lane, native: Lane, influx: Lane | undefined): Figure[] {
  const ours = median(lane.rates)
  const beside = (name: string, other: Lane): Figure => ({
    name,
    ours: perSecond(ours),
    yardstick: perSecond(median(other.rates)),
    ratio: (ours / median(other.rates)).toFixed(3),
  })
  const name = `bodies of ${lane.size} lines, ${lane.isGzip ? 'gzip' : 'plain'}`
  return [
    beside(`${name}; beside native batches of ${BATCH}`, native),
    ...(influx === undefined ? [] : [beside('  beside InfluxDB', influx)]),
  ]
}
