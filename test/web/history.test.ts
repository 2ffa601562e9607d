// Goal: lines of charts are broken where a sensor was silent, and nowhere else, and a period is
// summed up truly. Method: the page's own modules, without a browser.

import { expect } from 'chai'
import { gapsOf } from '../../src/web/gaps.js'
import { summaryOf } from '../../src/web/history.js'

const MINUTE_MS = 60_000
const NOW_MS = Date.parse('2026-11-20T10:15:00Z')

const DAY_MS = 1_440 * MINUTE_MS

function startsAfter(stepsMs: readonly number[]): number[] {
  let atMs = NOW_MS
  return [atMs, ...stepsMs.map((stepMs) => (atMs += stepMs))]
}

/** @param counts of each bucket; one each where there are fewer */
function gapsAfter(stepsMs: readonly number[], bucketMs = 0, counts: number[] = []): number[] {
  const startsMs = startsAfter(stepsMs)
  const history = { bucketMs, startsMs, counts: startsMs.map((_, at) => counts[at] ?? 1) }
  return gapsOf(history).flatMap((isGap, at) => (isGap ? [at] : []))
}

/** The gaps between days with that many measurements, 0 for a day without. */
function gapsOfDays(counts: readonly number[]): number[] {
  const days = counts.flatMap((count, day) => (count === 0 ? [] : [{ count, day }]))
  const startsMs = days.map(({ day }) => NOW_MS + day * DAY_MS)
  const history = { bucketMs: DAY_MS, startsMs, counts: days.map(({ count }) => count) }
  return gapsOf(history).flatMap((isGap, at) => (isGap ? [days[at]?.day ?? NaN] : []))
}

const every = (minutes: number, count: number) =>
  Array.from({ length: count }, () => minutes * MINUTE_MS)

describe('the gaps of a history', () => {
  it('are where a sensor was silent for longer than is usual', () => {
    expect(gapsAfter([...every(5, 10), 20 * MINUTE_MS, ...every(5, 10)])).to.deep.equal([11])
    expect(gapsAfter([...every(5, 10), 10 * MINUTE_MS, ...every(5, 10)])).to.deep.equal([])
  })

  it('are not the empty buckets of a sensor that sends rarely', () => {
    expect(gapsAfter(every(10, 100), MINUTE_MS)).to.deep.equal([])
  })

  it('are not where a sensor begins to send more often, or more rarely', () => {
    expect(gapsAfter([...every(5, 20), ...every(1 / 30, 200)])).to.deep.equal([])
    expect(gapsAfter([...every(1 / 30, 200), ...every(5, 20)])).to.deep.equal([])
  })

  it('are on both sides of a point that stands alone', () => {
    const gap = 300 * MINUTE_MS
    expect(gapsAfter([...every(5, 20), gap, gap, ...every(5, 20)])).to.deep.equal([21, 22])
  })

  it('are where a whole bucket is missing among full ones', () => {
    const steps = [...every(15, 10), 30 * MINUTE_MS, ...every(15, 10)]
    const full = steps.map(() => 15)
    expect(gapsAfter(steps, 15 * MINUTE_MS, [...full, 15])).to.deep.equal([11])
    expect(gapsAfter(steps, 15 * MINUTE_MS)).to.deep.equal([])
  })

  it('are outages of more than a day in a year, also where no day is empty', () => {
    const week = Array.from({ length: 7 }, () => 288)
    expect(gapsOfDays([...week, 288, 0, 288, ...week])).to.deep.equal([9])
    expect(gapsOfDays([...week, 120, 0, 40, ...week])).to.deep.equal([9])
    expect(gapsOfDays([...week, 120, 100, ...week])).to.deep.equal([8])
    expect(gapsOfDays([...week, 160, 200, ...week])).to.deep.equal([])
    expect(gapsOfDays([...week, 5, 270, ...week])).to.deep.equal([8])
    expect(gapsOfDays([3, ...week, 3])).to.deep.equal([])
    expect(gapsOfDays([...week, 150, ...week])).to.deep.equal([])
  })

  it('are not days of 25 or 23 hours', () => {
    const steps = [...every(1_440, 8), 1_500 * MINUTE_MS, ...every(1_440, 8), 1_380 * MINUTE_MS]
    const counts = Array.from({ length: 30 }, () => 1_440)
    expect(gapsAfter([...steps, ...every(1_440, 8)], DAY_MS, counts)).to.deep.equal([])
  })

  it('are nowhere between two points, or in one', () => {
    expect(gapsAfter([])).to.deep.equal([])
    expect(gapsAfter(every(600, 1))).to.deep.equal([])
  })
})

describe('the mean of a history', () => {
  const summaryAfter = (stepsMs: number[], means: number[], counts: number[], bucketMs = 0) => {
    const startsMs = startsAfter(stepsMs)
    const columns = { startsMs, means, mins: means, maxs: means, counts }
    const rest = { compensation: 0, bucket: '', isComplete: true, asOfMs: undefined }
    return summaryOf({ ...columns, ...rest, bucketMs })
  }

  it('is that over time, however often the sensor sends when', () => {
    const warm = every(1, 60)
    const cold = every(10, 30)
    const means = [20, ...warm.map(() => 20), ...cold.map(() => 8)]
    const summary = summaryAfter(
      [...warm, ...cold],
      means,
      means.map(() => 1),
    )
    expect(summary?.mean).to.be.closeTo(10.1, 0.1)
    expect(summary?.meanOfAll).to.be.closeTo(16, 0.1)
  })

  it('leaves gaps out, and gives each bucket its own time', () => {
    const steps = [...every(5, 9), 600 * MINUTE_MS, ...every(5, 9)]
    const means = steps.map((_, at) => (at < 10 ? 4 : 8))
    const counts = steps.map((_, at) => (at < 10 ? 50 : 5))
    const summary = summaryAfter(steps, [...means, 8], [...counts, 5], 5 * MINUTE_MS)
    expect(summary?.mean).to.be.closeTo(6, 1e-9)
  })

  it('is the value of one measurement, and nothing of none', () => {
    const summary = summaryAfter([], [5], [1])
    expect(summary).to.include({ mean: 5, meanOfAll: 5, lowestAt: 0, highestAt: 0, total: 1 })
    expect(summaryAfter([], [], [])).to.equal(undefined)
  })
})
