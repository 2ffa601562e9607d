// Goal: as test/sqlite/damaged-data.test.ts, at a thousand places of each file.

import { FlippedData } from '../support/flips.ts'
import { byLength } from '../support/length.ts'

const FLIPS = byLength(40, 1_000)

describe('files with flipped bits', () => {
  const data = new FlippedData()
  before(() => data.prepare())
  after(() => data.remove())

  for (const file of ['control.db', 'ledger.db', 'measurements.db'] as const) {
    it(`change no answer, and are named by verify: ${file}`, async () => {
      const { refused, harmless } = await data.flip(file, FLIPS)
      process.stderr.write(`      ${refused} were refused, ${harmless} were never needed\n`)
    })
  }
})
