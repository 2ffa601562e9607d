// Goal: a time that has a measurement is never taken for free.

import { expect } from 'chai'
import { array, assert, integer, property } from 'fast-check'
import {
  decodeSpans,
  encodeSpans,
  isCovered,
  withTime,
} from '../../../src/postgres/stream/time-spans.ts'
import type { TimeSpans } from '../../../src/postgres/stream/time-spans.ts'

describe('time spans', () => {
  it('cover every time they were given, in at most eight ascending periods', () => {
    assert(
      property(array(integer({ min: 0, max: 60 }), { maxLength: 40 }), (times) => {
        const spans = times.reduce<TimeSpans>(withTime, [])
        expect(times.every((atMs) => isCovered(spans, atMs))).to.equal(true)
        expect(spans.length).to.be.at.most(8)
        const ends = spans.flat()
        expect(ends).to.deep.equal(ends.toSorted((one, other) => one - other))
        expect(decodeSpans(encodeSpans(spans))).to.deep.equal(spans)
      }),
    )
  })

  it('keep the widest gaps free', () => {
    const times = [0, 1, 1_000, 1_001, 5_000, 20_000, 40_000, 60_000, 80_000, 100_000]
    const spans = times.reduce<TimeSpans>(withTime, [])
    expect([500, 3_000, 10_000, 90_000].some((atMs) => isCovered(spans, atMs))).to.equal(false)
  })
})
