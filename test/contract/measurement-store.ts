// What every measurement store promises.
// Goal: histories never depend on which store they come from. Method: one suite against the ports,
// called by the tests of each store. Every test takes sensors of its own, because a store may not
// be able to forget one at once.

import { expect } from 'chai'
import * as fc from 'fast-check'
import type { Selector, SeriesRange, StoredPoint, WindowSummary } from '../../src/domain/history.ts'
import { EVER } from '../../src/domain/time.ts'
import type { TimeRange } from '../../src/domain/time.ts'
import type { MeasurementReader, MeasurementWriter } from '../../src/ports/measurement-store.ts'
import { batchOf, buoyMeasurements, collect } from '../support/measurements.ts'
import type { TestMeasurement } from '../support/measurements.ts'

export interface OpenStore {
  readonly writer: MeasurementWriter
  readonly reader: MeasurementReader
  close(): Promise<void>
}

export interface StoreCapabilities {
  /** Runs of each property; fewer for a store where a write takes long. */
  readonly propertyRuns: number
}

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const WINDOWS_MS = [1, 5, 15, 60, 1_440].map((minutes) => minutes * MINUTE_MS)
const START_MS = Date.UTC(2026, 2, 10)
const AROUND = { startMs: START_MS - DAY_MS, stopMs: START_MS + 2 * DAY_MS }

/** Of two measurements the earlier of which comes first. */
const CHOICES: Readonly<
  Record<Selector, (one: TestMeasurement, later: TestMeasurement) => TestMeasurement>
> = {
  first: (one) => one,
  last: (_one, later) => later,
  min: (one, later) => (later.tempCelsius < one.tempCelsius ? later : one),
  max: (one, later) => (later.tempCelsius > one.tempCelsius ? later : one),
}

let lastSensorId = 0
const newSensorId = (): number => ++lastSensorId

/** Declares the suite for one store. `open` is called once for each test. */
export function describeMeasurementStore(
  name: string,
  open: () => Promise<OpenStore>,
  { propertyRuns }: StoreCapabilities,
): void {
  describe(`${name} as a measurement store`, () => {
    let store: OpenStore
    beforeEach(async () => {
      store = await open()
    })
    afterEach(() => store.close())

    const write = (measurements: readonly TestMeasurement[]) =>
      store.writer.write(batchOf(measurements))

    const readRaw = (sensorId: number, startMs: number, stopMs: number): Promise<StoredPoint[]> =>
      collect(store.reader.readRaw({ sensorIds: [sensorId], startMs, stopMs }))

    const readWindows = (sensorId: number, windowMs: number): Promise<WindowSummary[]> =>
      collect(store.reader.readWindows({ sensorIds: [sensorId], ...AROUND }, windowMs))

    /** Asks about all of the sensors at once, and about parts of the time. */
    const expectStored = async (expected: readonly TestMeasurement[]): Promise<void> => {
      const points = bySensor(expected)
      const of = (range: TimeRange) => ({ sensorIds: [...points.keys()], ...range })
      const raw = await collect(store.reader.readRaw(of(AROUND)))
      expect(Map.groupBy(raw, idOf)).to.deep.equal(
        new Map([...points].map(([id, own]) => [id, own.map(storedPoint)])),
      )
      for (const windowMs of WINDOWS_MS) {
        const windows = await collect(store.reader.readWindows(of(AROUND), windowMs))
        const ofSensors = Map.groupBy(windows, idOf)
        expect(ofSensors.size).to.equal(points.size)
        for (const [id, own] of points) {
          expectSummaries(ofSensors.get(id) ?? [], foldAll(own, windowMs))
        }
        const asOne = { ...of(AROUND), areOne: true }
        const together = addUp(await collect(store.reader.readWindows(asOne, windowMs)))
        expectSummaries(together, addUp(foldAll(expected, windowMs)))
      }
      const ranges = [AROUND, EVER, ...partsOf(expected)]
      for (const range of ranges) await expectTotals(points, of(range))
    }

    const expectTotals = async (
      points: ReadonlyMap<number, readonly TestMeasurement[]>,
      range: SeriesRange,
    ): Promise<void> => {
      const totals = new Map<number, WindowSummary>()
      for (const total of await collect(store.reader.readTotals(range))) {
        totals.set(total.sensorId, total)
      }
      const inside = [...points].flatMap(([id, own]) => {
        const meant = own.filter(({ measuredAtMs: atMs }) => {
          return atMs >= range.startMs && atMs < range.stopMs
        })
        return meant.length > 0 ? [[id, meant] as const] : []
      })
      expect([...totals.keys()]).to.have.members(inside.map(([id]) => id))
      for (const [selector, choose] of Object.entries(CHOICES)) {
        const chosen = await collect(store.reader.readOne(range, selector as Selector))
        const expected = inside.map(([, own]) => storedPoint(own.reduce(choose)))
        expect(chosen, selector).to.have.deep.members(expected)
      }
      for (const [id, own] of inside) {
        const [total] = foldAll(own, Infinity)
        expectSummaries([totals.get(id)!], [{ ...total!, startMs: range.startMs }])
      }
    }

    it('reads every measurement as it was written, by time and then by tie-break', async () => {
      const sensorId = newSensorId()
      const values = [-273.15, 10_000, 0.1 + 0.2, 21, -0.000_001, 1e-12]
      const measurements = values.map((tempCelsius, at) => ({
        sensorId,
        measuredAtMs: START_MS + (at % 2) * 1_001,
        tieBreakNs: 999_999 - at,
        tempCelsius,
      }))
      await write(measurements)
      await expectStored(measurements)
    })

    it('takes the start of a range and leaves its stop', async () => {
      const sensorId = newSensorId()
      const at = (ms: number) => ({ sensorId, measuredAtMs: START_MS + ms, tempCelsius: ms })
      await write([at(0), at(59_999), at(60_000), at(119_999), at(120_000)])
      const [startMs, stopMs] = [START_MS + 60_000, START_MS + 120_000]
      const raw = await readRaw(sensorId, startMs, stopMs)
      expect(raw.map(({ rawCelsius }) => rawCelsius)).to.deep.equal([60_000, 119_999])
      const windows = await collect(
        store.reader.readWindows({ sensorIds: [sensorId], startMs, stopMs }, MINUTE_MS),
      )
      expect(windows.map((window) => [window.startMs, window.count])).to.deep.equal([[startMs, 2]])
    })

    it('has nothing for a sensor that it does not know', async () => {
      const sensorId = newSensorId()
      expect(await readRaw(sensorId, START_MS, START_MS + DAY_MS)).to.deep.equal([])
      expect(await readWindows(sensorId, MINUTE_MS)).to.deep.equal([])
    })

    it('keeps many measurements of one millisecond apart and in order', async () => {
      const sensorId = newSensorId()
      const measurements = Array.from({ length: 4_500 }, (_, at) => ({
        sensorId,
        measuredAtMs: START_MS + (at < 4_400 ? 0 : at),
        tieBreakNs: at,
        tempCelsius: at / 10,
      }))
      await write(measurements.toReversed())
      await expectStored(measurements)
    })

    it('reads real data back, whatever the order in which it came', async () => {
      const sensorId = newSensorId()
      const measurements = buoyMeasurements(sensorId)
      const middle = measurements.length / 2
      await write(measurements.slice(middle))
      await write(measurements.slice(0, middle))
      const stored = await readRaw(sensorId, Date.UTC(2016), Date.UTC(2018))
      expect(stored).to.deep.equal(measurements.map(storedPoint))
    })

    it('keeps summaries right for late, repeated and tied measurements', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.array(arbitraryReading(), { maxLength: 40 })),
          async (runs) => {
            const sensorIds = [newSensorId(), newSensorId()]
            const known = new Map<string, TestMeasurement>()
            for (const run of runs) {
              const measurements = run.map((reading) => measurementOf(reading, sensorIds))
              for (const measurement of measurements)
                known.set(identityOf(measurement), measurement)
              await write(measurements)
            }
            await expectStored([...known.values()])
          },
        ),
        { numRuns: propertyRuns },
      )
    })

    it('changes nothing when batches are written again', async () => {
      const sensorId = newSensorId()
      const first = series(sensorId, 300, 7_000)
      const second = series(sensorId, 300, 11_000)
      await write(first)
      await write(second)
      await write(first)
      await write([...second, ...first])
      const all = new Map([...first, ...second].map((each) => [identityOf(each), each]))
      await expectStored([...all.values()])
    })

    it('forgets a deleted sensor whole and keeps the others', async () => {
      const [gone, kept] = [newSensorId(), newSensorId()]
      const others = series(kept, 200, 60_000)
      await write([...series(gone, 200, 60_000), ...others])
      await write(series(gone, 10, 1_000))
      const deleteGone = () =>
        store.writer.deleteSensor(
          { userId: 1, sensorId: gone },
          { startMs: START_MS - DAY_MS, stopMs: START_MS + 2 * DAY_MS },
        )
      await deleteGone()
      const expectGone = async () => {
        expect(await readRaw(gone, START_MS - DAY_MS, START_MS + 2 * DAY_MS)).to.deep.equal([])
        for (const windowMs of WINDOWS_MS) {
          expect(await readWindows(gone, windowMs)).to.deep.equal([])
        }
      }
      await expectGone()
      await deleteGone()
      await expectGone()
      await expectStored(others)
    })

    it('takes a batch of nothing, which changes nothing', async () => {
      const measurements = series(newSensorId(), 100, 7_000)
      await write(measurements)
      expect(await write([])).to.deep.equal([])
      await expectStored(measurements)
    })
  })
}

/** Few times, so that many measurements meet; the value is a function of the identity. */
interface Reading {
  readonly sensor: number
  readonly atMs: number
  readonly tieBreakNs: number
}

function arbitraryReading(): fc.Arbitrary<Reading> {
  const near = fc.integer({ min: 0, max: 5 })
  const far = fc.integer({ min: -DAY_MS, max: 2 * DAY_MS - 1 })
  return fc.record({
    sensor: fc.integer({ min: 0, max: 1 }),
    atMs: fc.oneof(
      near,
      far,
      far.map((ms) => Math.floor(ms / MINUTE_MS) * MINUTE_MS),
    ),
    tieBreakNs: fc.oneof(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 999_999 })),
  })
}

function measurementOf(reading: Reading, sensorIds: readonly number[]): TestMeasurement {
  const { sensor, atMs, tieBreakNs } = reading
  return {
    sensorId: sensorIds[sensor] as number,
    measuredAtMs: START_MS + atMs,
    tieBreakNs,
    // Zero is added because a store need not keep the sign of zero.
    tempCelsius: ((atMs * 31 + tieBreakNs * 17 + sensor) % 100_003) / 100 + 0,
  }
}

function series(sensorId: number, count: number, stepMs: number): TestMeasurement[] {
  return Array.from({ length: count }, (_, at) => ({
    sensorId,
    measuredAtMs: START_MS + at * stepMs,
    tempCelsius: 20 + ((at * stepMs) % 977) / 100,
  }))
}

function identityOf({ sensorId, measuredAtMs, tieBreakNs }: TestMeasurement): string {
  return `${sensorId} ${measuredAtMs} ${tieBreakNs ?? 0}`
}

function storedPoint({ sensorId, measuredAtMs, tempCelsius }: TestMeasurement): StoredPoint {
  return { sensorId, measuredAtMs, rawCelsius: tempCelsius }
}

/** One summary of each window, whichever sensors it is of. */
function addUp(summaries: readonly WindowSummary[]): WindowSummary[] {
  const windows = Map.groupBy(summaries, ({ startMs }) => startMs)
  return [...windows]
    .toSorted(([one], [other]) => one - other)
    .map(([startMs, parts]) => ({
      sensorId: 0,
      startMs,
      count: parts.reduce((sum, { count }) => sum + count, 0),
      sum: parts.reduce((sum, part) => sum + part.sum, 0),
      min: Math.min(...parts.map(({ min }) => min)),
      max: Math.max(...parts.map(({ max }) => max)),
    }))
}

function idOf({ sensorId }: { readonly sensorId: number }): number {
  return sensorId
}

/** Ranges that begin and end at measurements, and between them. */
function partsOf(measurements: readonly TestMeasurement[]): readonly TimeRange[] {
  const [first, ...others] = measurements.map(({ measuredAtMs }) => measuredAtMs)
  const last = others.at(-1)
  if (first === undefined || last === undefined) return []
  const [startMs, stopMs] = [Math.min(first, last), Math.max(first, last)]
  return [
    { startMs, stopMs },
    { startMs: startMs + 1, stopMs: stopMs + 1 },
  ]
}

function bySensor(measurements: readonly TestMeasurement[]): Map<number, TestMeasurement[]> {
  const ordered = measurements.toSorted(
    (a, b) => a.measuredAtMs - b.measuredAtMs || (a.tieBreakNs ?? 0) - (b.tieBreakNs ?? 0),
  )
  return Map.groupBy(ordered, ({ sensorId }) => sensorId)
}

/** The summaries of ordered measurements, made the plain way. */
function foldAll(measurements: readonly TestMeasurement[], windowMs: number): WindowSummary[] {
  const windows = Map.groupBy(measurements, ({ measuredAtMs }) =>
    windowMs === Infinity ? 0 : Math.floor(measuredAtMs / windowMs) * windowMs,
  )
  return [...windows].map(([startMs, inside]) => {
    const values = inside.map(({ tempCelsius }) => tempCelsius)
    return {
      sensorId: inside[0]?.sensorId ?? 0,
      startMs,
      count: values.length,
      sum: values.reduce((sum, value) => sum + value, 0),
      min: Math.min(...values),
      max: Math.max(...values),
    }
  })
}

function expectSummaries(
  found: readonly WindowSummary[],
  expected: readonly WindowSummary[],
): void {
  const exact = (summary: WindowSummary) => ({ ...summary, sum: 0 })
  expect(found.map(exact)).to.deep.equal(expected.map(exact))
  for (const [at, { sum }] of found.entries()) {
    expect(sum).to.be.closeTo(expected[at]?.sum ?? NaN, 1e-6)
  }
}
