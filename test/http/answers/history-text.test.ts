// Points as text. Goal: written by hand they are what JSON.stringify and formatInstant would give.
// Method: any points, cut into chunks anywhere.

import { expect } from 'chai'
import fc from 'fast-check'
import { formatInstant } from '../../../src/domain/time.ts'
import { HISTORY_FORMATS } from '../../../src/http/answers/history-text.ts'

const instant = fc.integer({ min: Date.UTC(1969, 11, 1), max: Date.UTC(2030, 0, 1) })
const value = fc.double({ noNaN: true, noDefaultInfinity: true })
const point = fc.oneof(
  fc.record({ measuredAtMs: instant, temp: value }),
  fc.record({
    startMs: instant,
    temp: fc.option(value),
    min: fc.option(value),
    max: fc.option(value),
    count: fc.nat(),
  }),
)

describe('the text of a history', () => {
  it('is the JSON of its points, however they come', () => {
    fc.assert(
      fc.property(fc.array(fc.array(point, { maxLength: 4 }), { maxLength: 4 }), (chunks) => {
        const write = HISTORY_FORMATS.get('application/json')?.pointWriter()
        const text = chunks.map((chunk) => write?.(chunk).toString()).join('')
        const expected = chunks.flat().map((one) => {
          if ('measuredAtMs' in one) {
            return { timestamp: formatInstant(one.measuredAtMs), temp: one.temp }
          }
          const { startMs, ...rest } = one
          return { timestamp: formatInstant(startMs), ...rest }
        })
        expect(`[${text}]`).to.equal(JSON.stringify(expected))
      }),
    )
  })
})
