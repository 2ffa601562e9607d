// Goal: a deleted sensor's points do not come back, whatever InfluxDB is doing with its cache.
// Method: a real influxd with a cache that is written to disk a second after the last write; the
// deletion begins when the file of that snapshot is seen. A plain deletion then leaves hundreds of
// thousands of points behind, or has them come back with the next write to the series.

import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { StoreUnavailable } from '../../src/domain/errors.ts'
import type { InfluxTarget } from '../../src/influx/connection.ts'
import { InfluxMeasurementReader } from '../../src/influx/measurement-reader.ts'
import { InfluxMeasurementWriter } from '../../src/influx/measurement-writer.ts'
import { FakeClock } from '../support/clock.ts'
import { FaultProxy } from '../support/fault-proxy.ts'
import { connect, newBucket, newToken, useInfluxServer } from '../support/influx.ts'
import { RecordingLog } from '../support/log.ts'
import { batchOf, collect } from '../support/measurements.ts'
import type { TestMeasurement } from '../support/measurements.ts'

const DAY_MS = 86_400_000
const START_MS = Date.UTC(2026, 2, 10)
const BATCH = 50_000
const POINTS = 1_000_000
const SNAPSHOT_MS_MAX = 10_000
const NARROW = { startMs: START_MS - 10 * DAY_MS, stopMs: START_MS + 30 * DAY_MS }

function openStore(target: InfluxTarget) {
  const connection = connect(target, { timeoutMs: 30_000 })
  const collaborators = {
    connection,
    checkBucket: async () => ({ kind: 'ready' }) as const,
    clock: new FakeClock(),
    log: new RecordingLog(),
  }
  const reader = new InfluxMeasurementReader(connection)
  const count = async (sensorId: number, range = NARROW): Promise<number> => {
    const days = await collect(reader.readWindows({ sensorIds: [sensorId], ...range }, DAY_MS))
    return days.reduce((sum, day) => sum + day.count, 0)
  }
  return { writer: new InfluxMeasurementWriter(collaborators), count }
}

const point = (sensorId: number, atMs: number): TestMeasurement => ({
  sensorId,
  measuredAtMs: START_MS + atMs,
  // Noise, so that the snapshot has something to do.
  tempCelsius: Math.sin(atMs) * 100,
})

const series = (sensorId: number, count: number, fromSecond = 0) =>
  Array.from({ length: count }, (_, at) => point(sensorId, (fromSecond + at) * 1_000))

const infoOf = (sensorId: number) => ({
  userId: 1,
  sensorId,
  atMs: START_MS,
  serialNumber: `SN-${sensorId}`,
  alias: 'Cellar',
  compensationCelsius: 0.5,
})

describe('InfluxMeasurementWriter.deleteSensor', () => {
  const server = useInfluxServer([
    '--storage-cache-snapshot-memory-size=268435456',
    '--storage-cache-snapshot-write-cold-duration=1s',
  ])

  async function countInfos(target: InfluxTarget): Promise<number> {
    const { organization: org, influxBucket } = target
    const { body } = await connect(target).exchange({
      method: 'POST',
      path: `/api/v2/query?${new URLSearchParams({ org }).toString()}`,
      contentType: 'application/vnd.flux',
      body: `from(bucket: "${influxBucket}") |> range(start: 0)
        |> filter(fn: (r) => r._measurement == "sensor_info" and r._field == "alias")`,
    })
    return body.match(/,Cellar,/g)?.length ?? 0
  }

  it('deletes measurements and infos of that sensor and no other', async () => {
    const target = await newBucket(server())
    const { writer, count } = openStore(target)
    const batch = batchOf([...series(1, 3_000), ...series(2, 3_000), ...series(11, 10)])
    await writer.write({ ...batch, sensorInfos: [infoOf(1), infoOf(2)] })
    await writer.deleteSensor({ userId: 1, sensorId: 1 }, NARROW)
    expect(await Promise.all([1, 2, 11].map((id) => count(id)))).to.deep.equal([0, 3_000, 10])
    expect(await countInfos(target)).to.equal(1)
    await writer.deleteSensor({ userId: 1, sensorId: 1 }, NARROW)
    expect(await Promise.all([1, 2, 11].map((id) => count(id)))).to.deep.equal([0, 3_000, 10])
  })

  it('keeps what lies outside of the days of the range', async () => {
    const { writer, count } = openStore(await newBucket(server()))
    const edges = [-1, 0, DAY_MS - 1, DAY_MS].map((atMs) => point(1, atMs))
    await writer.write(batchOf(edges))
    const range = { startMs: START_MS, stopMs: START_MS + DAY_MS }
    await writer.deleteSensor({ userId: 1, sensorId: 1 }, range)
    expect(await count(1)).to.equal(2)
    expect(await count(1, range)).to.equal(0)
  })

  it('deletes a sensor that was off by decades', async () => {
    const { writer, count } = openStore(await newBucket(server()))
    const range = { startMs: 0, stopMs: START_MS + DAY_MS }
    await writer.write(batchOf([point(1, 5 - START_MS), ...series(1, 100)]))
    await writer.deleteSensor({ userId: 1, sensorId: 1 }, range)
    expect(await count(1, range)).to.equal(0)
  })

  it('deletes a million points while the cache is written to disk, for good', async function () {
    this.slow(20_000)
    const { writer, count } = openStore(await newBucket(server()))
    for (let second = 0; second < POINTS; second += BATCH) {
      await writer.write(batchOf(series(1, BATCH, second)))
    }
    // It may be over before it is seen: then the cache is on disk already.
    const deadlineMs = performance.now() + SNAPSHOT_MS_MAX
    while (!server().isSnapshotRunning() && performance.now() < deadlineMs) await setTimeout(1)
    await writer.deleteSensor({ userId: 1, sensorId: 1 }, NARROW)
    expect(await count(1)).to.equal(0)
    // Into every shard that the points were in.
    const late = [0, 4, 8, 12].map((day) => point(1, day * DAY_MS + 7))
    await writer.write(batchOf(late))
    expect(await count(1)).to.equal(late.length)
  })

  it('says that it is not certain when InfluxDB cannot be asked', async () => {
    const target = await newBucket(server())
    const proxy = await FaultProxy.start(target.url)
    const { writer } = openStore({ ...target, url: proxy.url })
    await writer.write(batchOf(series(1, 10)))
    for (const path of ['/api/v2/delete', '/api/v2/write', '/api/v2/query']) {
      proxy.decide = (request) => ({ kind: request.path.startsWith(path) ? 'cut' : 'pass' })
      const failure = await writer
        .deleteSensor({ userId: 1, sensorId: 1 }, NARROW)
        .catch((error: unknown) => error)
      expect(failure, path).to.be.instanceOf(StoreUnavailable)
    }
    await proxy.close()
  })

  it('says that it is paused for a token that may not delete', async () => {
    const target = await newBucket(server())
    const influxToken = await newToken(server(), target, ['read'])
    const failure = await openStore({ ...target, influxToken })
      .writer.deleteSensor({ userId: 1, sensorId: 1 }, NARROW)
      .catch((error: unknown) => error)
    expect(failure).to.be.instanceOf(StoreUnavailable)
    expect(failure).to.include({ isPaused: true })
  })

  it('does not believe a deletion that was acknowledged and has deleted nothing', async () => {
    const target = await newBucket(server())
    const proxy = await FaultProxy.start(target.url)
    const { writer } = openStore({ ...target, url: proxy.url })
    await writer.write(batchOf(series(1, 10)))
    let lies = 2
    proxy.decide = ({ path }) => {
      const isLie = path.startsWith('/api/v2/delete') && lies-- > 0
      return isLie ? { kind: 'answer', status: 204 } : { kind: 'pass' }
    }
    await writer.deleteSensor({ userId: 1, sensorId: 1 }, NARROW)
    expect(await openStore(target).count(1)).to.equal(0)
    lies = Infinity
    await writer.write(batchOf(series(2, 10)))
    const failure = await writer
      .deleteSensor({ userId: 1, sensorId: 2 }, NARROW)
      .catch((error: unknown) => error)
    expect(failure).to.be.instanceOf(StoreUnavailable)
    await proxy.close()
  })
})
