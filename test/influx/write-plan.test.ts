import { expect } from 'chai'
import * as fc from 'fast-check'
import { planPlaces, shardGroupOf } from '../../src/influx/write-plan.ts'
import { batchOf } from '../support/measurements.ts'

const DAY_MS = 86_400_000
const START_MS = Date.UTC(2026, 0, 1)

const columnsAt = (timesMs: readonly number[]) =>
  batchOf(timesMs.map((measuredAtMs) => ({ sensorId: 1, measuredAtMs, tempCelsius: 0 })))
    .measurements

describe('planPlaces', () => {
  it('plans nothing for nothing', () => {
    expect(planPlaces(columnsAt([]))).to.deep.equal([])
  })

  it('cuts many measurements of one time into requests of bounded length, in order', () => {
    const requests = planPlaces(columnsAt(Array.from({ length: 20_000 }, (_, at) => START_MS + at)))
    expect(requests.map(({ length }) => length)).to.deep.equal([8_000, 8_000, 4_000])
    expect(requests.flatMap((places) => [...places])).to.deep.equal(
      Array.from({ length: 20_000 }, (_, at) => at),
    )
  })

  it('keeps a request of years of weeks within few shards', () => {
    const weeks = Array.from({ length: 150 }, (_, week) => START_MS - (week % 150) * 7 * DAY_MS)
    for (const places of planPlaces(columnsAt([...weeks, ...weeks]))) {
      const groups = new Set([...places].map((place) => shardGroupOf(weeks[place % 150] ?? NaN)))
      expect(groups.size).to.be.at.most(4)
    }
  })

  it('places every measurement once, whatever their times', () => {
    const times = fc.array(fc.integer({ min: -4e12, max: 9e12 }), { maxLength: 200 })
    fc.assert(
      fc.property(times, (timesMs) => {
        const places = planPlaces(columnsAt(timesMs)).flatMap((request) => [...request])
        expect(places.sort((a, b) => a - b)).to.deep.equal([...timesMs.keys()])
      }),
    )
  })
})
