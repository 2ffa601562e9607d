import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { StoreUnavailable } from '../../src/domain/errors.ts'
import { checkInfluxBucket } from '../../src/influx/bucket-check.ts'
import type { InfluxTarget } from '../../src/influx/connection.ts'
import { InfluxMeasurementReader } from '../../src/influx/measurement-reader.ts'
import { InfluxMeasurementWriter } from '../../src/influx/measurement-writer.ts'
import type { StoreBatch } from '../../src/ports/measurement-store.ts'
import { FakeClock } from '../support/clock.ts'
import { FaultProxy } from '../support/fault-proxy.ts'
import type { Fault } from '../support/fault-proxy.ts'
import { connect, newBucket, newToken, useInflux, useInfluxServer } from '../support/influx.ts'
import { RecordingLog } from '../support/log.ts'
import { batchOf, collect } from '../support/measurements.ts'
import type { TestMeasurement } from '../support/measurements.ts'

const DAY_MS = 86_400_000
const START_MS = Date.UTC(2026, 2, 10)
const RANGE = { sensorIds: [1], startMs: Date.UTC(2010, 0, 1), stopMs: Date.UTC(2030, 0, 1) }

function series(count: number, stepMs = 1_000): TestMeasurement[] {
  return Array.from({ length: count }, (_, at) => ({
    sensorId: 1,
    measuredAtMs: START_MS + at * stepMs,
    tempCelsius: (at % 400) / 8,
  }))
}

const log = new RecordingLog()

function openWriter(target: InfluxTarget, timeoutMs = 10_000): InfluxMeasurementWriter {
  const connection = connect(target, { timeoutMs })
  const checkBucket = async () => ({ kind: 'ready' }) as const
  return new InfluxMeasurementWriter({ connection, checkBucket, clock: new FakeClock(), log })
}

const readRaw = (target: InfluxTarget, startMs = RANGE.startMs) =>
  collect(new InfluxMeasurementReader(connect(target)).readRaw({ ...RANGE, startMs }))

const failureOf = async (writing: Promise<unknown>): Promise<StoreUnavailable> => {
  const failure = await writing.then(
    () => 'it did not fail',
    (error: unknown) => error,
  )
  expect(failure).to.be.instanceOf(StoreUnavailable)
  return failure as StoreUnavailable
}

async function writeLines(target: InfluxTarget, lines: string): Promise<void> {
  const { organization: org, influxBucket: bucket } = target
  const path = `/api/v2/write?${new URLSearchParams({ org, bucket }).toString()}`
  const answer = await connect(target).exchange({ method: 'POST', path, body: lines })
  expect(answer.status, answer.body).to.equal(204)
}

describe('InfluxMeasurementWriter', () => {
  const influx = useInflux()
  let target: Awaited<ReturnType<typeof newBucket>>
  let proxy: FaultProxy
  beforeEach(async () => {
    target = await newBucket(influx())
    proxy = await FaultProxy.start(target.url)
  })
  afterEach(() => proxy.close())

  const throughProxy = () => ({ ...target, url: proxy.url })

  it('writes names and compensation for those who read the bucket', async () => {
    const alias = 'a "cellar" \\ döwn,\nthere=1 🌡\u0000'
    const info = { userId: 3, sensorId: 7, atMs: START_MS, serialNumber: '28:FF', alias }
    const infos = [{ ...info, compensationCelsius: 2 }]
    const batch: StoreBatch = { ...batchOf([]), sensorInfos: infos }
    expect(await openWriter(target).write(batch)).to.deep.equal([])
    const { chunks } = await connect(target).stream({
      method: 'POST',
      path: `/api/v2/query?${new URLSearchParams({ org: target.organization }).toString()}`,
      contentType: 'application/vnd.flux',
      body: `import "json"
        from(bucket: "${target.influxBucket}") |> range(start: 0)
          |> pivot(rowKey: ["_time"], columnKey: ["_field"], valueColumn: "_value")
          |> map(fn: (r) => ({_value: string(v: json.encode(v: {
            m: r._measurement, u: r.user_id, s: r.sensor_id,
            sn: r.sn, alias: r.alias, c: r.compensation}))}))
          |> keep(columns: ["_value"])`,
    })
    const found: unknown = JSON.parse(
      /"(\{.*\})"/.exec(await text(chunks))?.[1]?.replaceAll('""', '"') ?? '',
    )
    const tags = { m: 'sensor_info', u: '3', s: '7' }
    expect(found).to.deep.equal({ ...tags, sn: '28:FF', alias, c: 2 })
  })

  it('compresses what goes over a network', async () => {
    // An address that is not known to be of this machine.
    const url = target.url.replace('127.0.0.1', '0.0.0.0')
    await openWriter({ ...target, url }).write(batchOf(series(3_000)))
    expect(await readRaw(target)).to.have.lengthOf(3_000)
    const relay = proxy.url.replace('127.0.0.1', '0.0.0.0')
    await openWriter({ ...target, url: relay }).write(batchOf(series(3_000)))
    const [request] = proxy.requests
    expect(request?.headers['content-encoding']).to.equal('gzip')
    expect(request?.body.length).to.be.below(3_000 * 20)
  })

  it('sends a batch of years in requests of few shards each', async () => {
    const weeks = series(150 * 20).map((measurement, at) => ({
      ...measurement,
      measuredAtMs: START_MS - (at % 150) * 7 * DAY_MS + at,
    }))
    expect(await openWriter(throughProxy()).write(batchOf(weeks))).to.deep.equal([])
    for (const { body } of proxy.requests) {
      const days =
        body
          .toString()
          .match(/\d+(?=\n)/g)
          ?.map((ns) => Number(ns) / 1e6 / DAY_MS) ?? []
      expect(Math.max(...days) - Math.min(...days)).to.be.below(4 * 30)
    }
    expect(await readRaw(target)).to.have.lengthOf(weeks.length)
  })

  describe('when lines are refused', () => {
    it('finds the line that a whole request is refused for and writes the rest', async () => {
      const measurements = series(9_000)
      const batch = batchOf(measurements)
      batch.measurements.tempCelsius[4_321] = NaN
      batch.measurements.tempCelsius[8_999] = Infinity
      const toSetAside = await openWriter(target).write(batch)
      expect(toSetAside.map(({ index }) => index)).to.deep.equal([4_321, 8_999])
      expect(toSetAside[0]?.reason).to.match(/unable to parse.*400/)
      expect(await readRaw(target)).to.have.lengthOf(8_998)
    })

    it('finds the lines of another field type in their shard', async () => {
      await writeLines(target, `temperature,user_id=9,sensor_id=9 temp=1i ${START_MS}000000`)
      const later = series(100).map((measurement) => ({
        ...measurement,
        measuredAtMs: measurement.measuredAtMs + 60 * DAY_MS,
      }))
      const toSetAside = await openWriter(target).write(batchOf([...series(3), ...later]))
      expect(toSetAside.map(({ index }) => index)).to.deep.equal([0, 1, 2])
      expect(toSetAside[0]?.reason).to.match(/field type conflict.*422/)
      // Not over both: the integer hides the floats of the other shard too.
      expect(await readRaw(target, START_MS + 40 * DAY_MS)).to.have.lengthOf(100)
    })

    it('finds the lines that are older than the bucket keeps, in few requests', async () => {
      const bucket = await newBucket(influx(), { expireSeconds: 86_400 })
      const nowMs = Math.floor(performance.timeOrigin + performance.now())
      const recent = series(40, 1).map((measurement, at) => ({
        ...measurement,
        measuredAtMs: nowMs - at,
      }))
      const batch = batchOf([...recent, ...series(4_000)])
      const toSetAside = await openWriter({ ...bucket, url: proxy.url }).write(batch)
      expect(toSetAside).to.have.lengthOf(4_000)
      expect(toSetAside[0]?.index).to.equal(40)
      expect(toSetAside[0]?.reason).to.match(/retention/)
      expect(proxy.requests.length).to.be.below(20)
      expect(await readRaw(bucket)).to.have.lengthOf(40)
    })

    it('cuts a request in two for a proxy that finds it too large', async () => {
      proxy.decide = ({ body }) =>
        body.length > 40_000 ? { kind: 'answer', status: 413 } : { kind: 'pass' }
      expect(await openWriter(throughProxy()).write(batchOf(series(3_000)))).to.deep.equal([])
      expect(await readRaw(target)).to.have.lengthOf(3_000)
    })

    it('sets nothing aside because of another server that says 400', async () => {
      proxy.use({ kind: 'answer', status: 400, body: '<html>Bad Request</html>' })
      const failure = await failureOf(openWriter(throughProxy()).write(batchOf(series(10))))
      expect(failure).to.include({ isPaused: true, isOutcomeUnknown: false })
      expect(proxy.requests).to.have.lengthOf(1)
    })
  })

  describe('when it is not known what was written', () => {
    const faults: readonly (readonly [string, Fault, Partial<StoreUnavailable>])[] = [
      ['the connection is cut', { kind: 'cut' }, { isOutcomeUnknown: true }],
      ['the reply is lost', { kind: 'lose_reply' }, { isOutcomeUnknown: true }],
      ['no reply comes', { kind: 'pause' }, { isOutcomeUnknown: true }],
      ['it says 500', { kind: 'answer', status: 500 }, { isOutcomeUnknown: true }],
      [
        'it says 503 and when to come back',
        { kind: 'answer', status: 503, headers: { 'retry-after': '3' } },
        { isOutcomeUnknown: true, retryAfterMs: 3_000 },
      ],
      ['it says 429', { kind: 'answer', status: 429 }, { isOutcomeUnknown: false }],
      ['it says 401', { kind: 'answer', status: 401 }, { isPaused: true }],
    ]
    for (const [what, fault, expected] of faults) {
      it(`says so when ${what}, and the same batch again makes it whole`, async () => {
        const impatient = openWriter(throughProxy(), fault.kind === 'pause' ? 300 : undefined)
        const batch = batchOf(series(20_000, 500))
        proxy.useFor(1, fault)
        expect(await failureOf(impatient.write(batch))).to.include(expected)
        proxy.resume()
        expect(await openWriter(throughProxy()).write(batch)).to.deep.equal([])
        expect(await readRaw(target)).to.have.lengthOf(20_000)
      })
    }

    it('is the same after a write that arrives late', async () => {
      const writer = openWriter(throughProxy())
      proxy.useFor(1, { kind: 'arrive_late', afterMs: 100 })
      expect(await failureOf(writer.write(batchOf(series(500))))).to.include({
        isOutcomeUnknown: true,
      })
      await writer.write(batchOf(series(500)))
      await proxy.settleLate()
      expect(await readRaw(target)).to.have.lengthOf(500)
    })

    it('knows that nothing was written where nobody listens', async () => {
      const url = 'http://127.0.0.1:9'
      const failure = await failureOf(openWriter({ ...target, url }).write(batchOf(series(1))))
      expect(failure).to.include({ isOutcomeUnknown: false, isPaused: false })
    })
  })

  describe('before its first write', () => {
    const openChecked = (checked: InfluxTarget, checkedLog = log) => {
      const connection = connect(checked)
      const checkBucket = () => checkInfluxBucket(connection)
      const clock = new FakeClock()
      return new InfluxMeasurementWriter({ connection, checkBucket, clock, log: checkedLog })
    }

    it('refuses a bucket that expires data, says the remedy and touches nothing', async () => {
      const bucket = await newBucket(influx(), { expireSeconds: 86_400 })
      const writer = openChecked({ ...bucket, url: proxy.url })
      const works = [
        () => writer.write(batchOf(series(1))),
        () => writer.deleteSensor({ userId: 1, sensorId: 1 }, RANGE),
      ]
      for (const work of works) {
        const failure = await failureOf(work())
        expect(failure).to.include({ isPaused: true, isOutcomeUnknown: false })
        expect(failure.message).to.match(/after 86400 seconds: .*--retention 0/)
      }
      expect(proxy.requests.map(({ method }) => method)).to.deep.equal(['GET', 'GET'])
    })

    it('looks again when the bucket could not be looked at, and once when it could', async () => {
      const writer = openChecked(throughProxy())
      proxy.useFor(1, { kind: 'cut' })
      const failure = await failureOf(writer.write(batchOf(series(1))))
      expect(failure).to.include({ isPaused: false, isOutcomeUnknown: false })
      for (const measurement of series(3)) await writer.write(batchOf([measurement]))
      const looked = proxy.requests.filter(({ path }) => path.startsWith('/api/v2/buckets'))
      expect(looked).to.have.lengthOf(2)
      expect(await readRaw(target)).to.have.lengthOf(3)
    })

    it('makes the bucket that is not there', async () => {
      const made = { ...target, influxBucket: `${target.influxBucket}-made` }
      const itsLog = new RecordingLog()
      await openChecked(made, itsLog).write(batchOf(series(3)))
      expect(await readRaw(made)).to.have.lengthOf(3)
      expect(itsLog.events.map(({ message }) => message)).to.deep.equal(['created the bucket'])
    })
  })

  it('says that it is paused for a token that may not write', async () => {
    const influxToken = await newToken(influx(), target, ['read'])
    const writing = openWriter({ ...target, influxToken }).write(batchOf(series(1)))
    const failure = await failureOf(writing)
    expect(failure).to.include({ isPaused: true })
    expect(failure.message).to.include('INFLUX_TOKEN may not write')
    expect(failure.message).not.to.include(influxToken)
  })

  it('finds InfluxDB behind a path', async () => {
    proxy.decide = ({ path }) => {
      expect(path).to.match(/^\/metrics-db\/api\/v2\/write\?/)
      return { kind: 'answer', status: 204 }
    }
    for (const url of [`${proxy.url}/metrics-db`, `${proxy.url}/metrics-db/`]) {
      expect(await openWriter({ ...target, url }).write(batchOf(series(1)))).to.deep.equal([])
    }
  })
})

describe('InfluxMeasurementWriter, when influxd is killed', () => {
  const server = useInfluxServer()

  it('sees that it has another life, and none while it is away', async () => {
    const writer = openWriter(await newBucket(server()), 1_000)
    const before = await writer.life()
    expect(before).to.be.a('string')
    expect(await writer.life()).to.equal(before)
    await server().kill()
    expect(await writer.life()).to.equal(undefined)
    await server().restart()
    expect(await writer.life())
      .to.be.a('string')
      .that.does.not.equal(before)
  })

  it('has on disk what it has acknowledged', async () => {
    const target = await newBucket(server())
    await openWriter(target).write(batchOf(series(20_000)))
    await server().restart()
    expect(await readRaw(target)).to.have.lengthOf(20_000)
  })

  it('gives up on an influxd that is paused, and writes when it goes on', async () => {
    const target = await newBucket(server())
    const writer = openWriter(target, 300)
    server().pause()
    try {
      expect(await failureOf(writer.write(batchOf(series(10))))).to.include({
        isOutcomeUnknown: true,
      })
    } finally {
      server().resume()
    }
    await openWriter(target).write(batchOf(series(10)))
    expect(await readRaw(target)).to.have.lengthOf(10)
  })
})
