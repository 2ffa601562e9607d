// Points as text. Goal: written by hand they are what JSON.stringify and formatInstant would give.
// Method: any points, cut into chunks anywhere.

import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import fc from 'fast-check'
import { formatInstant } from '../../../src/domain/time.ts'
import { HISTORY_FORMATS } from '../../../src/http/answers/history-text.ts'
import { someSensor } from '../../support/some-sensor.ts'

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

const someChunks = fc.array(fc.array(point, { minLength: 1, maxLength: 4 }), { maxLength: 4 })

const SENSOR = someSensor({ id: 7 })
const QUESTION = {
  fromMs: 0,
  toMs: 3_600_000,
  bucket: 'hour',
  timeZone: 'UTC',
  isFilled: false,
} as const

describe('the text of a history', () => {
  it('is the JSON of its points, however they come', () => {
    return fc.assert(
      fc.asyncProperty(someChunks, async (chunks) => {
        const points = Readable.from(chunks)
        const history = { sensor: SENSOR, question: QUESTION, isComplete: true, points }
        const pieces = HISTORY_FORMATS.get('application/json')?.one(history)
        const whole = await text(Readable.from(pieces ?? []))
        const expected = chunks.flat().map((one) => {
          if ('measuredAtMs' in one) {
            return { timestamp: formatInstant(one.measuredAtMs), temp: one.temp }
          }
          const { startMs, ...rest } = one
          return { timestamp: formatInstant(startMs), ...rest }
        })
        expect(whole.slice(whole.indexOf('"points":'))).to.equal(
          `"points":${JSON.stringify(expected)}}}`,
        )
      }),
    )
  })
})
