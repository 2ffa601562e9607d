import { expect } from 'chai'
import fc from 'fast-check'
import { changedFromMs, withRevision } from '../../src/sensors/history-revisions.ts'
import type { HistoryRevision } from '../../src/sensors/history-revisions.ts'

describe('history revisions', () => {
  it('tell no client, however far behind, of too late a time, nor of one without a change', () => {
    const times = fc.array(fc.integer({ min: 0, max: 1_000 }), { maxLength: 40 })
    const isRight = fc.property(times, (fromMs) => {
      const events = fromMs.map((atMs, at) => ({ no: at + 1, fromMs: atMs }))
      const revisions = events.reduce<readonly HistoryRevision[]>(withRevision, [])
      expect(revisions.length).to.be.at.most(8)
      for (let no = 0; no <= events.length; no++) {
        const oldestMs = Math.min(...fromMs.slice(no))
        const told = changedFromMs(revisions, no) ?? Infinity
        expect(told).to.be.at.most(oldestMs)
        expect(told === Infinity).to.equal(no === events.length)
        if (no >= events.length - 8) expect(told).to.equal(oldestMs)
      }
    })
    fc.assert(isRight)
  })
})
