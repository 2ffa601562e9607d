// Goal: an answer is a pure function of data and question, and is called complete only when it is.
// Method: the real embedded store, a journal whose lag the test decides, and plain recomputation.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { ServiceError } from '../../src/domain/errors.ts'
import type { BucketPoint, HistoryPoint, HistoryQuestion } from '../../src/domain/history.ts'
import type { ReadBarrier } from '../../src/ports/journal-queue.ts'
import type { MeasurementReader } from '../../src/ports/measurement-store.ts'
import type { Sensor } from '../../src/domain/sensor.ts'
import { resolveQuestion } from '../../src/history/buckets.ts'
import { HistoryReader, historyVersion } from '../../src/history/read-history.ts'
import { SqliteMeasurementReader } from '../../src/sqlite/measurements/measurement-reader.ts'
import { SqliteMeasurementWriter } from '../../src/sqlite/measurements/measurement-writer.ts'
import { batchOf, buoyMeasurements, collect, readBuoy } from '../support/measurements.ts'
import { someSensor } from '../support/some-sensor.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
const NOW_MS = Date.UTC(2026, 10, 20)
const START_MS = Date.UTC(2026, 2, 1)

const SENSOR = someSensor({ createdAtMs: START_MS, lastSeenAtMs: START_MS })

const ALL_READABLE: ReadBarrier = {
  waitUntilReadable: async () => true,
  findUnreadable: async function* () {},
  listUnreadable: async () => new Set(),
}

describe('HistoryReader', () => {
  let directory: string
  let writer: SqliteMeasurementWriter
  let reader: SqliteMeasurementReader

  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'thermolog-'))
    const file = join(directory, 'measurements.db')
    writer = new SqliteMeasurementWriter(file)
    reader = new SqliteMeasurementReader(file)
  })

  after(async () => {
    await reader.close()
    await writer.close()
    rmSync(directory, { recursive: true })
  })

  let lastSensorId = 0
  /** A sensor with a measurement for each pair of seconds after the start and temperature. */
  const sensorWith = async (
    readings: readonly (readonly [seconds: number, tempCelsius: number])[],
    compensationCelsius = 0,
  ): Promise<Sensor> => {
    const id = ++lastSensorId
    const measurements = readings.map(([seconds, tempCelsius], at) => ({
      sensorId: id,
      measuredAtMs: START_MS + seconds * 1_000,
      tieBreakNs: at,
      tempCelsius,
    }))
    await writer.write(batchOf(measurements))
    return { ...SENSOR, id, compensationCelsius }
  }

  const read = async (
    sensor: Sensor,
    question: Partial<HistoryQuestion>,
  ): Promise<HistoryPoint[]> => {
    const resolved = resolveQuestion({ isFilled: false, ...question }, NOW_MS)
    const { points } = await new HistoryReader(reader, ALL_READABLE).read(sensor, resolved)
    return collect(points)
  }

  const day = { fromMs: START_MS, toMs: START_MS + DAY_MS }

  it('keeps nothing of several long histories that their client has not read', async () => {
    const asked: (readonly number[])[] = []
    const noted = Object.assign(Object.create(reader) as typeof reader, {
      readWindows: async function* (...asking: Parameters<typeof reader.readWindows>) {
        asked.push(asking[0].sensorIds)
        yield* reader.readWindows(...asking)
      },
    })
    const sensors = [await sensorWith([[0, 20]]), await sensorWith([[0, 21]])]
    const range = { fromMs: START_MS, toMs: START_MS + 3 * DAY_MS }
    const question = resolveQuestion({ ...range, bucket: 'minute', isFilled: false }, NOW_MS)
    const histories = await new HistoryReader(noted, ALL_READABLE).readSeveral(sensors, question)
    expect(asked).to.deep.equal([[sensors[0]?.id]])
    const temps: unknown[] = []
    for (const { points } of histories) {
      for (const point of await collect(points)) temps.push(point.temp)
    }
    expect(temps).to.deep.equal([20, 21])
  })

  it('shows stored values exactly without compensation', async () => {
    const sensor = await sensorWith([
      [0, 0.1 + 0.2],
      [0, -273.15],
      [61, 21.123456789],
    ])
    expect(await read(sensor, { ...day, bucket: 'raw' })).to.deep.equal([
      { measuredAtMs: START_MS, temp: 0.1 + 0.2 },
      { measuredAtMs: START_MS, temp: -273.15 },
      { measuredAtMs: START_MS + 61_000, temp: 21.123456789 },
    ])
    expect(await read(sensor, { ...day, bucket: 'hour' })).to.deep.equal([
      { startMs: START_MS, temp: -83.908848, min: -273.15, max: 21.123456789, count: 3 },
    ])
  })

  it('adds the compensation and rounds to six decimals', async () => {
    const sensor = await sensorWith(
      [
        [0, 11.75],
        [1, 12.85],
      ],
      -0.4,
    )
    expect(await read(sensor, { ...day, bucket: 'raw' })).to.deep.equal([
      { measuredAtMs: START_MS, temp: 11.35 },
      { measuredAtMs: START_MS + 1_000, temp: 12.45 },
    ])
    expect(await read(sensor, { ...day, bucket: 'minute' })).to.deep.equal([
      { startMs: START_MS, temp: 11.9, min: 11.35, max: 12.45, count: 2 },
    ])
  })

  it('gives the same mean whatever the order in which the values came', async () => {
    // Their sum is 0.02, whose 64th part lies in the middle between two numbers of six decimals.
    const values = [0.1, 0.2, 0.3, -0.58, ...Array<number>(60).fill(0)]
    const seconds = values.map((_, at) => at)
    const forward = await sensorWith(seconds.map((at) => [at, values[at] ?? 0]))
    const backward = await sensorWith([])
    for (const at of seconds.toReversed()) {
      const measuredAtMs = START_MS + at * 1_000
      const tempCelsius = values[at] ?? 0
      await writer.write(batchOf([{ sensorId: backward.id, measuredAtMs, tempCelsius }]))
    }
    const question = { ...day, bucket: 'hour' } as const
    const points = await read(forward, question)
    expect(await read(backward, question)).to.deep.equal(points)
    expect(points[0]?.temp).to.equal(0.000313)
  })

  it('leaves empty buckets out and lists them with null when asked', async () => {
    const sensor = await sensorWith([
      [2 * 3_600, 4],
      [5 * 3_600, 6],
    ])
    const question = { fromMs: START_MS + 1, toMs: START_MS + 7 * HOUR_MS, bucket: 'hour' } as const
    const points = (await read(sensor, question)) as BucketPoint[]
    expect(points.map(({ startMs }) => (startMs - START_MS) / HOUR_MS)).to.deep.equal([2, 5])
    const filled = (await read(sensor, { ...question, isFilled: true })) as BucketPoint[]
    expect(filled.map(({ temp }) => temp)).to.deep.equal([null, null, 4, null, null, 6, null])
    expect(filled[0]).to.deep.equal({
      startMs: START_MS,
      temp: null,
      min: null,
      max: null,
      count: 0,
    })
    expect(filled.map(({ startMs }) => (startMs - START_MS) / HOUR_MS)).to.deep.equal([
      0, 1, 2, 3, 4, 5, 6,
    ])
  })

  it('fills a history without any measurement', async () => {
    const sensor = await sensorWith([])
    const points = await read(sensor, { ...day, bucket: 'hour', isFilled: true })
    expect(points).to.have.length(24)
    expect(await read(sensor, { ...day, bucket: 'hour' })).to.deep.equal([])
  })

  it('has one point for a local day of 25 hours and none for a skipped one', async () => {
    const apia = await sensorWith([])
    const at = (text: string, tempCelsius: number) => ({
      sensorId: apia.id,
      measuredAtMs: Date.parse(text),
      tempCelsius,
    })
    await writer.write(batchOf([at('2011-12-30T09:59:59.999Z', 1), at('2011-12-30T10:00:00Z', 3)]))
    const days = {
      fromMs: Date.parse('2011-12-29T10:00:00Z'),
      toMs: Date.parse('2012-01-01T10:00:00Z'),
      bucket: 'day',
      timeZone: 'Pacific/Apia',
      isFilled: true,
    } as const
    const points = (await read(apia, days)) as BucketPoint[]
    expect(
      points.map(({ startMs, temp }) => [new Date(startMs).toISOString(), temp]),
    ).to.deep.equal([
      ['2011-12-29T10:00:00.000Z', 1],
      ['2011-12-30T10:00:00.000Z', 3],
      ['2011-12-31T10:00:00.000Z', null],
    ])
  })

  it('finds the days with data in thousands of years without any', async () => {
    const sensor = await sensorWith([
      [0, 4],
      [1_200 * 86_400, 6],
    ])
    const points = (await read(sensor, {
      fromMs: Date.parse('0001-01-01T00:00:00Z'),
      toMs: Date.parse('9999-01-01T00:00:00Z'),
      bucket: 'day',
      timeZone: 'Asia/Kathmandu',
    })) as BucketPoint[]
    const dayStartMs = START_MS - 5.75 * HOUR_MS
    expect(points.map(({ startMs, temp }) => [startMs, temp])).to.deep.equal([
      [dayStartMs, 4],
      [dayStartMs + 1_200 * DAY_MS, 6],
    ])
  })

  it('gives a bucket the same value in every answer that shows it', async () => {
    const startMs = Date.UTC(2026, 3, 1)
    const instant = fc.integer({ min: -2 * DAY_MS, max: 9 * DAY_MS })
    const celsius = fc.double({ min: -40, max: 80, noNaN: true })
    const readings = fc.array(fc.tuple(instant, celsius), { minLength: 50, maxLength: 300 })
    const zones = fc.constantFrom('Australia/Lord_Howe', 'Europe/Berlin', 'Asia/Kathmandu')
    await fc.assert(
      fc.asyncProperty(readings, instant, instant, zones, async (values, a, b, timeZone) => {
        const sensor = await sensorWith([])
        const measurements = values.map(([atMs, tempCelsius], tieBreakNs) => ({
          sensorId: sensor.id,
          measuredAtMs: startMs + atMs,
          tieBreakNs,
          tempCelsius: tempCelsius + 0,
        }))
        await writer.write(batchOf(measurements))
        const part = { fromMs: startMs + Math.min(a, b), toMs: startMs + Math.max(a, b) + 1 }
        const whole = { fromMs: startMs - 3 * DAY_MS, toMs: startMs + 10 * DAY_MS }
        for (const bucket of ['minute', '5min', '15min', 'hour', 'day'] as const) {
          const asked = bucket === 'day' ? { bucket, timeZone } : { bucket }
          const { fromMs, toMs } = resolveQuestion({ isFilled: false, ...part, ...asked }, NOW_MS)
          const all = (await read(sensor, { ...whole, ...asked })) as BucketPoint[]
          const inPart = all.filter((point) => point.startMs >= fromMs && point.startMs < toMs)
          expect(await read(sensor, { ...part, ...asked })).to.deep.equal(inPart)
          expect(all.reduce((sum, { count }) => sum + count, 0)).to.equal(values.length)
        }
      }),
      { numRuns: 30 },
    )
  })

  describe('on the readings of a buoy', () => {
    let buoy: Sensor
    before(async () => {
      buoy = await sensorWith([])
      await writer.write(batchOf(buoyMeasurements(buoy.id)))
    })

    for (const timeZone of ['UTC', 'America/New_York', 'Asia/Kolkata']) {
      it(`has the daily means of a plain computation in ${timeZone}`, async () => {
        const points = (await read(buoy, {
          fromMs: Date.UTC(2016, 0, 1),
          toMs: Date.UTC(2018, 0, 1),
          bucket: 'day',
          timeZone,
        })) as BucketPoint[]
        const local = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' })
        const dateOf = (atMs: number): string => local.format(atMs)
        const days = Map.groupBy(readBuoy(), ({ time }) => dateOf(Date.parse(time)))
        expect(points.map(({ startMs }) => dateOf(startMs))).to.deep.equal([...days.keys()])
        for (const { startMs, temp, min, max, count } of points) {
          const values = (days.get(dateOf(startMs)) ?? []).map(({ celsius }) => Number(celsius))
          // Whole thousandths: their sum is exact.
          const sum = values.reduce((total, value) => total + Math.round(value * 1_000), 0)
          expect(temp).to.be.closeTo(sum / 1_000 / values.length, 5.000_001e-7)
          expect([min, max]).to.deep.equal([Math.min(...values), Math.max(...values)])
          expect(count).to.equal(values.length)
        }
      })
    }
  })

  describe('while the store lags behind', () => {
    const resolved = resolveQuestion({ ...day, isFilled: false, bucket: 'raw' }, NOW_MS)

    /** A journal that answers whether the sensor has anything unreadable in this order. */
    const lagging = (...unreadable: boolean[]) => {
      const waits: string[] = []
      const journal: ReadBarrier = {
        ...ALL_READABLE,
        waitUntilReadable: async (versions) => waits.push(...versions) > 0,
        findUnreadable: async function* () {
          if (unreadable.shift() === true) yield SENSOR.id
        },
      }
      return { journal, waits }
    }

    it('waits for nothing when all of the range is readable', async () => {
      const { journal, waits } = lagging(false)
      const { isComplete } = await new HistoryReader(reader, journal).read(SENSOR, resolved)
      expect([isComplete, waits]).to.deep.equal([true, []])
    })

    it('waits for what the sensor has, and is complete when it came', async () => {
      const { journal, waits } = lagging(true, false)
      const { isComplete } = await new HistoryReader(reader, journal).read(SENSOR, resolved)
      expect([isComplete, waits]).to.deep.equal([true, [SENSOR.dataVersion]])
    })

    it('waits for nothing of a store that is silent', async () => {
      const { journal, waits } = lagging(true)
      const refuseIfSilent = () => Promise.reject(new ServiceError('history_unavailable'))
      const silent = { refuseIfSilent } as Partial<MeasurementReader> as MeasurementReader
      await new HistoryReader(silent, journal).read(SENSOR, resolved).catch(() => undefined)
      expect(waits).to.deep.equal([])
    })

    it('is not complete when something is missing after the wait', async () => {
      const { journal } = lagging(true, true)
      const { isComplete } = await new HistoryReader(reader, journal).read(SENSOR, resolved)
      expect(isComplete).to.equal(false)
    })

    it('fails before it answers when the store is out of reach', async () => {
      const unavailable = new ServiceError('history_unavailable')
      const broken = {
        readRaw: () => failing(unavailable),
        readOne: () => failing(unavailable),
        readWindows: () => failing(unavailable),
        readTotals: () => failing(unavailable),
        close: async () => undefined,
      }
      const failure = await new HistoryReader(broken, ALL_READABLE)
        .read(SENSOR, resolved)
        .catch((error: unknown) => error)
      expect(failure).to.equal(unavailable)
    })

    it('ends the reading of the store when its answer is not read to the end', async () => {
      let hasEnded = false
      const endless = async function* () {
        try {
          for (;;) yield [{ sensorId: SENSOR.id, measuredAtMs: START_MS, rawCelsius: 1 }]
        } finally {
          hasEnded = true
        }
      }
      const source = {
        readRaw: endless,
        readOne: failing,
        readWindows: failing,
        readTotals: failing,
        close: async () => undefined,
      }
      const { points } = await new HistoryReader(source, ALL_READABLE).read(SENSOR, resolved)
      for await (const chunk of points) {
        if (chunk.length > 0) break
      }
      expect(hasEnded).to.equal(true)
    })
  })
})

async function* failing(error: unknown): AsyncIterable<never> {
  yield* []
  throw error
}

describe('historyVersion', () => {
  const question = resolveQuestion({ isFilled: false }, NOW_MS)
  const version = historyVersion(SENSOR, question)

  it('changes with the data and with all that an answer says', () => {
    const changes: Partial<Sensor>[] = [
      { id: 2 },
      { dataVersion: '8' },
      { serialNumber: 'other' },
      { alias: 'Attic' },
      { compensationCelsius: 1 },
    ]
    for (const change of changes) {
      expect(historyVersion({ ...SENSOR, ...change }, question)).not.to.equal(version)
    }
    const later = resolveQuestion({ isFilled: false }, NOW_MS + MINUTE_MS)
    expect(historyVersion(SENSOR, later)).not.to.equal(version)
    expect(historyVersion(SENSOR, { ...question, isFilled: true })).not.to.equal(version)
  })

  it('stays with what no answer says', () => {
    const seen = { ...SENSOR, lastSeenAtMs: NOW_MS, createdAtMs: 0 }
    expect(historyVersion(seen, question)).to.equal(version)
  })
})
