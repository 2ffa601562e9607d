// Goal: functions that choose, carry or compute have the numbers of the windows and measurements
// that they are made of, on every store. Method: a fleet of a day, random ranges and windows, and
// what they give by plain arithmetic from all windows and all measurements of the day.

import { expect } from 'chai'
import * as fc from 'fast-check'
import { floorToWindow } from '../../src/domain/time.ts'
import { HOUR_MS, MINUTE_MS, START_MS, STOP_MS, fillFleet } from '../support/fleet.ts'
import { askRows } from '../support/influxql.ts'
import type { Row } from '../support/influxql.ts'
import type { TestService } from '../support/service.ts'
import { onEachStore } from '../support/stores.ts'

const DAY_MS = 24 * HOUR_MS
const RUNS = 15
const WINDOWS_MS = [1, 7, 10, 60, 180, 1_440].map((minutes) => minutes * MINUTE_MS)
/** Windows of an average that reaches far back, which must not change the other columns. */
const FAR = 20
const SENSORS = ["sensor_id = '1'", "sensor_id = '2'", "sensor_id != '9'"]
const EVER = `time >= ${START_MS - DAY_MS}ms AND time < ${STOP_MS + DAY_MS}ms`

interface Point {
  readonly atMs: number
  readonly temp: number
}

/** A window that has measurements. */
interface Mean extends Point {
  readonly spread: number
}

interface Question {
  readonly startMs: number
  readonly lengthMs: number
  readonly windowMs: number
  readonly sensors: string
  readonly moving: number
}

const question: fc.Arbitrary<Question> = fc.record({
  startMs: fc.integer({ min: START_MS - 2 * HOUR_MS, max: STOP_MS }),
  lengthMs: fc.integer({ min: 1, max: DAY_MS }),
  windowMs: fc.constantFrom(...WINDOWS_MS),
  sensors: fc.constantFrom(...SENSORS),
  moving: fc.integer({ min: 2, max: 4 }),
})

describe('the functions of InfluxQL', () => {
  onEachStore((start) => {
    let service: TestService
    let token: string

    before(async () => {
      service = await start()
      await fillFleet(service)
      token = await service.createToken('a@example.org', { scope: ['sensors:read'] })
    })
    after(() => service?.stop())

    const rowsOf = (q: string) => askRows(service.url, token, q)
    const pointsOf = async (sensors: string): Promise<readonly Point[]> => {
      const rows = await rowsOf(`SELECT temp FROM temperature WHERE ${sensors} AND ${EVER}`)
      return rows.map(({ time, temp }) => ({ atMs: Number(time), temp: Number(temp) }))
    }
    const meansOf = async (sensors: string, windowMs: number): Promise<readonly Mean[]> => {
      const rows = await rowsOf(`SELECT mean(temp), min(temp), max(temp) FROM temperature
        WHERE ${sensors} AND ${EVER} GROUP BY time(${windowMs / 1_000}s) fill(none)`)
      return rows.map(({ time, mean, min, max }) => {
        const spread = round(Number(max) - Number(min))
        return { atMs: Number(time), temp: Number(mean), spread }
      })
    }

    it('are the numbers that windows and measurements have', async () => {
      const property = async ({ startMs, lengthMs, windowMs, sensors, moving }: Question) => {
        const stopMs = startMs + lengthMs
        const where = `FROM temperature WHERE ${sensors} AND
          time >= ${startMs}ms AND time < ${stopMs}ms`
        const points = (await pointsOf(sensors)).filter(({ atMs }) => {
          return atMs >= startMs && atMs < stopMs
        })
        for (const [selector, order] of Object.entries(ORDERS)) {
          const [point] = points.toSorted(order)
          const expected = point === undefined ? [] : [{ time: point.atMs, [selector]: point.temp }]
          expect(await rowsOf(`SELECT ${selector}(temp) ${where}`)).to.deep.equal(expected)
        }
        const fromMs = floorToWindow(startMs, windowMs)
        const means = await meansOf(sensors, windowMs)
        const windows = rowsFrom(means, { fromMs, stopMs, windowMs, moving })
        const isEmpty = windows.every(({ f }) => f === null)
        const select = `SELECT mean(temp) * 1.8 + 32 AS f, spread(temp),
          moving_average(mean(temp), ${moving}) AS moving,
          moving_average(mean(temp), ${FAR}) AS far ${where} GROUP BY time(${windowMs / 1_000}s)`
        const filled = isEmpty ? [] : windows
        expectRows(await rowsOf(select), filled)
        const none = filled.filter(({ f }) => f !== null)
        expectRows(await rowsOf(`${select} fill(none)`), none)
        const before = means.findLast(({ atMs }) => atMs < fromMs && atMs >= fromMs - DAY_MS)
        const carried = carry(filled, before)
        expectRows(await rowsOf(`${select} fill(previous)`), carried)
        const newest = `${select} fill(previous) ORDER BY time DESC LIMIT 5`
        expectRows(await rowsOf(newest), carried.toReversed().slice(0, 5))
      }
      await fc.assert(fc.asyncProperty(question, property), { numRuns: RUNS })
    })
  })
})

const ORDERS: Readonly<Record<string, (one: Point, other: Point) => number>> = {
  first: (one, other) => one.atMs - other.atMs,
  last: (one, other) => other.atMs - one.atMs,
  min: (one, other) => one.temp - other.temp,
  max: (one, other) => other.temp - one.temp,
}

interface Values {
  readonly f: number | null
  readonly spread: number | null
  readonly moving: number | null
  readonly far: number | null
}

const NOTHING: Values = { f: null, spread: null, moving: null, far: null }

/** Every window of a range. */
function rowsFrom(
  means: readonly Mean[],
  asked: { fromMs: number; stopMs: number; windowMs: number; moving: number },
): readonly (Values & { readonly time: number })[] {
  const { fromMs, stopMs, windowMs, moving } = asked
  return Array.from({ length: Math.ceil((stopMs - fromMs) / windowMs) }, (_, window) => {
    const time = fromMs + window * windowMs
    const mean = means.find(({ atMs }) => atMs === time)
    if (mean === undefined) return { time, ...NOTHING }
    const averageOf = (count: number) => {
      const since = means.filter(({ atMs }) => atMs >= fromMs - (count - 1) * windowMs)
      const recent = since.slice(0, since.indexOf(mean) + 1).slice(-count)
      const sum = recent.reduce((total, { temp }) => total + temp, 0)
      return recent.length < count ? null : round(sum / count)
    }
    return { time, ...valuesOf(mean), moving: averageOf(moving), far: averageOf(FAR) }
  })
}

function valuesOf({ temp, spread }: Mean) {
  return { f: temp * 1.8 + 32, spread }
}

/** Empty windows have what the one before has. */
function carry(rows: readonly Values[], before: Mean | undefined): readonly Values[] {
  let previous: Partial<Values> = before === undefined ? {} : valuesOf(before)
  return rows.map((row) => {
    const carried = row.f === null ? { ...row, ...previous } : row
    const { f, spread, moving, far } = carried
    previous = { f, spread, moving, far }
    return carried
  })
}

/** Averages of averages may be rounded either way. */
function expectRows(found: readonly Row[], expected: readonly Values[]): void {
  expect(found).to.have.lengthOf(expected.length)
  for (const [at, row] of expected.entries()) {
    for (const [name, value] of Object.entries(row) as [string, number | null][]) {
      const shown = found[at]?.[name]
      if (value === null || name === 'time') expect(shown, name).to.equal(value)
      else expect(shown, name).to.be.closeTo(value, 2e-6)
    }
  }
}

function round(value: number): number {
  return Math.round(value * 1e6) / 1e6
}
