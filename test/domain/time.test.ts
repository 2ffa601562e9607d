import { expect } from 'chai'
import fc from 'fast-check'
import { formatInstant, parseInstant } from '../../src/domain/time.ts'

const FIRST_MS = Date.parse('0000-01-01T00:00:00Z')
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z')
const instants = fc.integer({ min: FIRST_MS, max: LAST_MS })

describe('parseInstant', () => {
  it('reads what formatInstant writes, for every millisecond of four-digit years', () => {
    fc.assert(
      fc.property(instants, (atMs) => {
        expect(parseInstant(formatInstant(atMs))).to.equal(atMs)
      }),
      { numRuns: 2_000 },
    )
  })

  it('takes offsets away', () => {
    fc.assert(
      fc.property(instants, fc.integer({ min: -1_439, max: 1_439 }), (atMs, minutes) => {
        const sign = minutes < 0 ? '-' : '+'
        const size = Math.abs(minutes)
        const pad = (part: number) => String(part).padStart(2, '0')
        const offset = `${sign}${pad(Math.floor(size / 60))}:${pad(size % 60)}`
        const local = formatInstant(atMs).replace('Z', offset)
        expect(parseInstant(local)).to.equal(atMs - minutes * 60_000)
      }),
    )
  })

  it('cuts fractions to the millisecond', () => {
    const second = Date.parse('2026-11-20T10:15:00Z')
    for (const [fraction, ms] of [
      ['.1', 100],
      ['.12', 120],
      ['.1239', 123],
      ['.999999999', 999],
      ['.000999999', 0],
    ] as const) {
      expect(parseInstant(`2026-11-20T10:15:00${fraction}Z`)).to.equal(second + ms)
    }
  })

  for (const text of [
    '2026-11-20t10:15:00z',
    '2024-02-29T00:00:00Z',
    '2000-02-29T00:00:00Z',
    '2026-11-20T10:15:00-00:00',
  ]) {
    it(`takes ${text}`, () => expect(parseInstant(text)).to.be.a('number'))
  }

  for (const text of [
    '',
    '2026-11-20',
    '2026-11-20T10:15Z',
    '2026-11-20T10:15:00',
    '2026-11-20 10:15:00Z',
    '2026-11-20T10:15:60Z',
    '2026-11-20T24:00:00Z',
    '2026-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-11-31T00:00:00Z',
    '2026-11-20T10:15:00.Z',
    '2026-11-20T10:15:00.1234567890Z',
    '2026-11-20T10:15:00+24:00',
    '2026-11-20T10:15:00+0100',
    '2026-11-20T10:15:00ZZ',
    '+02026-11-20T10:15:00Z',
    '2x26-11-20T10:15:00Z',
    '２026-11-20T10:15:00Z',
  ]) {
    it(`refuses ${JSON.stringify(text)}`, () => expect(parseInstant(text)).to.equal(undefined))
  }
})
