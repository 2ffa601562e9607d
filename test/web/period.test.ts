// Goal: a period is the same when it comes back from an address, and zooming and moving never lead
// into the future. Method: the page's own module, without a browser.

import { expect } from 'chai'
import fc from 'fast-check'
import {
  SPANS,
  fixedPeriod,
  livePeriod,
  moved,
  ofSpan,
  periodName,
  periodNamed,
  zoomed,
} from '../../src/web/period.js'

const MINUTE_MS = 60_000
const NOW_MS = Date.parse('2026-11-20T10:15:00Z')

describe('the period of a chart', () => {
  const spans = fc.integer({ min: 60_000, max: 300 * 86_400_000 }).map((ms) => ms - (ms % 1_000))
  const ends = fc.integer({ min: Date.UTC(2020) / 1_000, max: NOW_MS / 1_000 - 1 })

  it('is the same when it comes back from an address', () => {
    fc.assert(
      fc.property(spans, ends, (spanMs, seconds) => {
        const endMs = Math.min(NOW_MS - 1_000, seconds * 1_000)
        for (const period of [
          livePeriod(spanMs, NOW_MS),
          fixedPeriod(endMs - spanMs, endMs, NOW_MS),
        ]) {
          expect(periodNamed(periodName(period), NOW_MS)).to.deep.equal(period)
        }
      }),
    )
  })

  it('is the last day when the address names none', () => {
    const day = livePeriod(86_400_000, NOW_MS)
    for (const name of ['', 'x', '0s/1s', '2026-11-20T00:00:00Z', '2026-02-01/2026-01-01']) {
      expect(periodNamed(name, NOW_MS)).to.deep.equal(day)
    }
  })

  it('never ends after now, and is live when it is moved there', () => {
    const before = fixedPeriod(NOW_MS - 3 * MINUTE_MS, NOW_MS - MINUTE_MS, NOW_MS)
    expect(before.isLive).to.equal(false)
    expect(moved(before, 5 * MINUTE_MS, NOW_MS)).to.deep.equal(livePeriod(2 * MINUTE_MS, NOW_MS))
    expect(zoomed(before, 4, before.fromMs, NOW_MS).isLive).to.equal(true)
  })

  it('keeps its end with another span, or stays live', () => {
    fc.assert(
      fc.property(spans, ends, fc.constantFrom(...SPANS), (spanMs, seconds, other) => {
        const endMs = Math.min(NOW_MS - 1_000, seconds * 1_000)
        const fixed = fixedPeriod(endMs - spanMs, endMs, NOW_MS)
        expect(ofSpan(fixed, other.spanMs, NOW_MS)).to.deep.equal({
          fromMs: endMs - other.spanMs,
          toMs: endMs,
          isLive: false,
        })
        const live = livePeriod(spanMs, NOW_MS - MINUTE_MS)
        expect(ofSpan(live, other.spanMs, NOW_MS)).to.deep.equal(livePeriod(other.spanMs, NOW_MS))
      }),
    )
  })

  it('keeps what is under the pointer when it is zoomed', () => {
    const day = fixedPeriod(NOW_MS - 2 * 86_400_000, NOW_MS - 86_400_000, NOW_MS)
    const atMs = day.fromMs + 6 * 3_600_000
    const { fromMs, toMs } = zoomed(day, 0.5, atMs, NOW_MS)
    expect(toMs - fromMs).to.equal(12 * 3_600_000)
    expect((atMs - fromMs) / (toMs - fromMs)).to.be.closeTo(0.25, 1e-6)
  })
})
