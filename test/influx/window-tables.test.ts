import { expect } from 'chai'
import { SUMMARY_VALUES } from '../../src/domain/history.ts'
import { WindowTables } from '../../src/influx/window-tables.ts'

const HOUR_MS = 3_600_000

interface Answer {
  readonly count?: readonly number[]
  readonly sum?: readonly number[]
  readonly timesMs?: readonly number[]
}

function join({ count = [2, 1], sum = [30, 7], timesMs = [0, HOUR_MS] }: Answer) {
  const tables = new WindowTables(SUMMARY_VALUES)
  const sensorId = 7
  tables.add({ sensorId, result: 'count', timesMs: timesMs.slice(0, count.length), values: count })
  tables.add({ sensorId, result: 'max', timesMs: [0, HOUR_MS], values: [20, 7] })
  tables.add({ sensorId, result: 'min', timesMs: [0, HOUR_MS], values: [10, 7] })
  tables.add({ sensorId, result: 'sum', timesMs: [0, HOUR_MS].slice(0, sum.length), values: sum })
  return [...tables.join()].find(([id]) => id === sensorId)?.[1]
}

describe('WindowTables', () => {
  it('joins the four results window by window', () => {
    expect(join({})).to.deep.equal([
      { sensorId: 7, startMs: 0, count: 2, sum: 30, min: 10, max: 20 },
      { sensorId: 7, startMs: HOUR_MS, count: 1, sum: 7, min: 7, max: 7 },
    ])
  })

  it('refuses a window that is in one result and not in the other', () => {
    expect(join({ count: [2] })).to.equal(undefined)
    expect(join({ sum: [30] })).to.equal(undefined)
    expect(join({ timesMs: [0, 2 * HOUR_MS] })).to.equal(undefined)
  })

  it('refuses a sum that has a measurement more than the count', () => {
    expect(join({ sum: [30, 14] })).to.equal(undefined)
    expect(join({ count: [4, 1] })).to.equal(undefined)
  })

  it('forgives a sum its rounding', () => {
    expect(join({ sum: [30, 7 + 1e-12] })).to.have.lengthOf(2)
  })

  it('joins nothing to nothing', () => {
    expect([...new WindowTables(SUMMARY_VALUES).join()]).to.deep.equal([])
  })
})
