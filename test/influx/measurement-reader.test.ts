import { expect } from 'chai'
import { ServiceError } from '../../src/domain/errors.ts'
import { queryRows } from '../../src/influx/flux-rows.ts'
import { rawQuery, totalsQuery, windowsQuery } from '../../src/influx/flux.ts'
import type { InfluxTarget } from '../../src/influx/connection.ts'
import { InfluxMeasurementReader } from '../../src/influx/measurement-reader.ts'
import { InfluxMeasurementWriter } from '../../src/influx/measurement-writer.ts'
import { FakeClock } from '../support/clock.ts'
import { FaultProxy } from '../support/fault-proxy.ts'
import type { Fault } from '../support/fault-proxy.ts'
import { connect, newBucket, useInflux } from '../support/influx.ts'
import { RecordingLog } from '../support/log.ts'
import { batchOf, collect } from '../support/measurements.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
const START_MS = Date.UTC(2026, 2, 10)
const RANGE = { sensorIds: [1], startMs: START_MS, stopMs: START_MS + 14 * DAY_MS }
const EVERY_MINUTE = (14 * DAY_MS) / MINUTE_MS

describe('InfluxMeasurementReader', () => {
  const influx = useInflux()
  let target: InfluxTarget
  let proxy: FaultProxy
  before(async () => {
    target = await newBucket(influx())
    const clock = new FakeClock()
    const writer = new InfluxMeasurementWriter({
      connection: connect(target),
      checkBucket: async () => ({ kind: 'ready' }) as const,
      clock,
      log: new RecordingLog(),
    })
    const measurements = Array.from({ length: EVERY_MINUTE }, (_, at) => ({
      sensorId: 1,
      measuredAtMs: START_MS + at * MINUTE_MS,
      tempCelsius: (at % 977) / 8,
    }))
    await writer.write(batchOf(measurements))
  })
  beforeEach(async () => {
    proxy = await FaultProxy.start(target.url)
  })
  afterEach(() => proxy.close())

  const openReader = (timeoutMs = 10_000) =>
    new InfluxMeasurementReader(connect({ ...target, url: proxy.url }, { timeoutMs }))

  const windowsBy = (windowMs: number, reader = openReader()) =>
    collect(reader.readWindows(RANGE, windowMs))

  it('asks one request for all that a window has', async () => {
    const hours = await windowsBy(HOUR_MS)
    expect(hours).to.have.lengthOf(14 * 24)
    expect(hours.every(({ count }) => count === 60)).to.equal(true)
    expect(proxy.requests).to.have.lengthOf(1)
  })

  it('asks one request about any number of sensors', async () => {
    const range = { ...RANGE, sensorIds: Array.from({ length: 10_000 }, (_, at) => at + 1) }
    const reader = openReader()
    expect(await collect(reader.readTotals(range))).to.have.lengthOf(1)
    expect(await collect(reader.readOne(range, 'last'))).to.have.lengthOf(1)
    expect(await collect(reader.readWindows(range, DAY_MS))).to.have.lengthOf(14)
    expect(proxy.requests).to.have.lengthOf(3)
  })

  it('asks for a range of very many windows in parts', async () => {
    const minutes = await windowsBy(MINUTE_MS)
    expect(minutes).to.have.lengthOf(EVERY_MINUTE)
    expect(minutes.map(({ startMs }) => startMs)).to.deep.equal(
      Array.from({ length: EVERY_MINUTE }, (_, at) => START_MS + at * MINUTE_MS),
    )
    expect(proxy.requests).to.have.lengthOf(Math.ceil(EVERY_MINUTE / 10_000))
  })

  it('shows measurements of the future', async () => {
    const startMs = Math.floor((performance.timeOrigin + performance.now()) / DAY_MS + 30) * DAY_MS
    const writer = new InfluxMeasurementWriter({
      connection: connect(target),
      checkBucket: async () => ({ kind: 'ready' }) as const,
      clock: new FakeClock(),
      log: new RecordingLog(),
    })
    await writer.write(batchOf([{ sensorId: 2, measuredAtMs: startMs, tempCelsius: 1 }]))
    const range = { sensorIds: [2], startMs, stopMs: startMs + DAY_MS }
    expect(await collect(openReader().readRaw(range))).to.have.lengthOf(1)
    expect(await collect(openReader().readWindows(range, DAY_MS))).to.have.lengthOf(1)
  })

  it('asks nothing for an empty range', async () => {
    const range = { ...RANGE, stopMs: RANGE.startMs }
    expect(await collect(openReader().readRaw(range))).to.deep.equal([])
    expect(await collect(openReader().readWindows(range, DAY_MS))).to.deep.equal([])
    expect(proxy.requests).to.deep.equal([])
  })

  it('lets go of the connection when the reader of a history goes away', async () => {
    const connection = connect({ ...target, url: proxy.url }, { socketsMax: 1 })
    const reader = new InfluxMeasurementReader(connection)
    for (let round = 0; round < 3; round++) {
      for await (const chunk of reader.readRaw(RANGE)) {
        expect(chunk).not.to.deep.equal([])
        break
      }
    }
    expect(await windowsBy(DAY_MS, reader)).to.have.lengthOf(14)
  })

  describe('pushes down into storage', () => {
    /** Which operators InfluxDB's own profiler has seen at work. */
    const operatorsOf = async (query: string): Promise<string[]> => {
      const profiled = [
        'import "profiler"',
        'option profiler.enabledProfilers = ["operator"]',
        query,
      ].join('\n')
      const { organization: org } = target
      const { body } = await connect(target).exchange({
        method: 'POST',
        path: `/api/v2/query?${new URLSearchParams({ org }).toString()}`,
        contentType: 'application/vnd.flux',
        body: profiled,
      })
      const types = body.matchAll(/profiler\/operator,([^,]+),/g)
      return [...types].map(([, type = '']) => type)
    }

    for (const minutes of [1, 5, 15, 60, 1_440]) {
      it(`every aggregate of windows of ${minutes} minutes`, async () => {
        const query = windowsQuery(target.influxBucket, RANGE, minutes * MINUTE_MS)
        const operators = await operatorsOf(query)
        expect(
          operators.filter((type) => type.includes('readWindowAggregateSource')),
        ).to.have.lengthOf(4)
        expect(operators.filter((type) => !/Source$|schemaMutation/.test(type))).to.deep.equal([])
      })
    }

    it('no aggregate that nobody needs', async () => {
      const range = { ...RANGE, needed: new Set(['sum'] as const) }
      const operators = await operatorsOf(windowsQuery(target.influxBucket, range, HOUR_MS))
      expect(
        operators.filter((type) => type.includes('readWindowAggregateSource')),
      ).to.have.lengthOf(2)
    })

    it('the totals of some sensors', async () => {
      const range = { ...RANGE, sensorIds: [1, 2, 30] }
      const operators = await operatorsOf(totalsQuery(target.influxBucket, range))
      expect(
        operators.filter((type) => type.includes('readWindowAggregateSource')),
      ).to.have.lengthOf(4)
      expect(operators.filter((type) => !/Source$|schemaMutation/.test(type))).to.deep.equal([])
    })

    it('the filter of a raw history', async () => {
      const operators = await operatorsOf(rawQuery(target.influxBucket, RANGE))
      expect(operators.filter((type) => !type.includes('schemaMutation'))).to.deep.equal([
        '*influxdb.readFilterSource',
      ])
    })
  })

  describe('says that the history is unavailable', () => {
    const expectUnavailable = async (reading: Promise<unknown>) => {
      const failure = await reading.catch((error: unknown) => error)
      expect(failure).to.be.instanceOf(ServiceError)
      expect(failure).to.include({ code: 'history_unavailable', retryAfterSeconds: 5 })
    }

    const faults: readonly (readonly [string, Fault])[] = [
      ['InfluxDB does not answer', { kind: 'pause' }],
      ['the connection is cut', { kind: 'cut' }],
      ['the answer breaks off', { kind: 'cut_reply', afterBytes: 100_000 }],
      ['the token is refused', { kind: 'answer', status: 401 }],
      ['the bucket is gone', { kind: 'answer', status: 404 }],
      ['InfluxDB is too busy', { kind: 'answer', status: 429 }],
      ['a proxy cannot reach it', { kind: 'answer', status: 502 }],
      [
        'a table of an error comes in the middle of an answer',
        {
          kind: 'answer',
          status: 200,
          body:
            ',result,table,_time,_value\r\n,count,0,2026-03-10T00:00:00Z,60\r\n\r\n' +
            'error,reference\r\nengine: context canceled,\r\n',
        },
      ],
    ]
    for (const [what, fault] of faults) {
      it(`when ${what}`, async () => {
        proxy.use(fault)
        await expectUnavailable(collect(openReader(300).readRaw(RANGE)))
        await expectUnavailable(windowsBy(MINUTE_MS, openReader(300)))
      })
    }

    it('when nobody listens', async () => {
      const reader = new InfluxMeasurementReader(connect({ ...target, url: 'http://127.0.0.1:9' }))
      await expectUnavailable(collect(reader.readRaw(RANGE)))
    })
  })

  it('meets a table of an error in an answer that InfluxDB has begun', async function () {
    // InfluxDB runs both at a time: now and then the error comes first.
    this.retries(5)
    const query = `
      data = from(bucket: "${target.influxBucket}")
        |> range(start: 2026-03-10T00:00:00Z, stop: 2026-03-24T00:00:00Z)
        |> keep(columns: ["_time", "_value"])
      data |> yield(name: "good")
      data |> map(fn: (r) => ({r with _value: float(v: "none")})) |> yield(name: "late")`
    let rows = 0
    const failure = await (async () => {
      for await (const piece of queryRows(connect(target), query)) {
        for (const { values } of piece) rows += values.length
      }
    })().catch((error: unknown) => error)
    expect(rows).to.be.above(1_000)
    expect(failure).to.include({ name: 'FluxFailure', status: 200 })
    expect(failure).to.have.property('message').that.includes('cannot convert string')
  })
})
