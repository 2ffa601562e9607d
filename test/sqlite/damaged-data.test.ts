// Goal: a flipped bit anywhere in a file never becomes an answer. Method: bits at random places of
// each file of a stopped data directory are flipped, one at a time; it is started again, and every
// event, dashboard and history is asked for. test/faults has the same a thousand times a file.

import { expect } from 'chai'
import { FlippedData } from '../support/flips.ts'

const FLIPS = 24

describe('a file with a flipped bit', function () {
  this.timeout(30_000)
  const data = new FlippedData()
  before(() => data.prepare())
  after(() => data.remove())

  for (const file of ['control.db', 'ledger.db', 'measurements.db'] as const) {
    it(`changes no answer, and is named by verify: ${file}`, async () => {
      const { refused, harmless } = await data.flip(file, FLIPS)
      expect(refused + harmless).to.equal(FLIPS)
      expect(refused).to.be.greaterThan(0)
    })
  }
})
