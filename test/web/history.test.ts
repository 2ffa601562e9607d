// Goal: lines of charts are broken where a sensor was silent, and nowhere else. Method: the page's
// own module, without a browser.

import { expect } from 'chai'
import { gapsOf } from '../../src/web/history.js'

const MINUTE_MS = 60_000
const NOW_MS = Date.parse('2026-11-20T10:15:00Z')

function gapsAfter(stepsMs: readonly number[], bucketMs = 0): number[] {
  let atMs = NOW_MS
  const startsMs = [atMs, ...stepsMs.map((stepMs) => (atMs += stepMs))]
  const none = { means: [], mins: [], maxs: [], counts: [], asOfMs: undefined }
  const history = { ...none, bucket: 'raw', bucketMs, isComplete: true, startsMs }
  return gapsOf(history).flatMap((isGap, at) => (isGap ? [at] : []))
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

  it('are nowhere between two points, or in one', () => {
    expect(gapsAfter([])).to.deep.equal([])
    expect(gapsAfter(every(600, 1))).to.deep.equal([])
  })
})
