import { expect } from 'chai'
import { backoffMs } from '../../src/ingest/backoff.ts'

describe('backoffMs', () => {
  it('doubles up to 15 s', () => {
    const pausesMs = [0, 1, 2, 3, 8, 100].map((attempt) => backoffMs(attempt, 1))
    expect(pausesMs).to.deep.equal([100, 200, 400, 800, 15_000, 15_000])
  })

  it('spreads between half and all of it', () => {
    expect(backoffMs(2, 0)).to.equal(200)
    expect(backoffMs(2, 0.5)).to.equal(300)
  })
})
