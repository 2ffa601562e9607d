import { expect } from 'chai'
import fc from 'fast-check'
import { cover, decodeSpans, encodeSpans, isCovered } from '../../src/domain/time-spans.ts'

const times = fc.array(fc.integer({ min: 0, max: 200 }), { minLength: 1, maxLength: 60 })

describe('the time spans of a sensor', () => {
  it('cover every time that was added, in at most eight ascending stretches', () => {
    fc.assert(
      fc.property(times, (added) => {
        const spans: number[] = []
        for (const atMs of added) cover(spans, atMs)
        expect(added.every((atMs) => isCovered(spans, atMs))).to.equal(true)
        expect(spans.length).to.be.at.most(16)
        expect(spans).to.deep.equal(spans.toSorted((a, b) => a - b))
        expect([...decodeSpans(encodeSpans(spans))]).to.deep.equal(spans)
      }),
    )
  })

  it('cover nothing else while there are few times', () => {
    const spans: number[] = []
    for (const atMs of [5, 1, 9]) cover(spans, atMs)
    const covered = [0, 1, 2, 4, 5, 6, 9, 10].filter((atMs) => isCovered(spans, atMs))
    expect(covered).to.deep.equal([1, 5, 9])
  })

  it('stay one stretch and a few points for data that come in order', () => {
    const spans: number[] = []
    for (let atMs = 0; atMs < 1_000; atMs += 10) cover(spans, atMs)
    expect(spans).to.have.length(16)
    expect(isCovered(spans, 1_000)).to.equal(false)
  })
})
