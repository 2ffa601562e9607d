import { expect } from 'chai'
import {
  isSameContent,
  refusalFor,
  registrationFault,
  tieBreakFault,
  timeFault,
} from '../../src/domain/acceptance.ts'
import type { RequestFault } from '../../src/domain/errors.ts'

const RECEIVED_MS = Date.parse('2026-11-20T10:15:00Z')
const RULES = {
  mayRegisterSensors: true,
  sensorsPerUserMax: 2,
  futureMsMax: 300_000,
  measuredAtMsMin: Date.parse('2010-01-01T00:00:00Z'),
}

describe('the rules of acceptance', () => {
  it('take a repeat for the same event, unless its temperature or its time is another', () => {
    const known = { tempCelsius: 21.5, measuredAtMs: RECEIVED_MS }
    const rows: [Partial<typeof known>, boolean][] = [
      [{}, true],
      [{ measuredAtMs: NaN }, true],
      [{ tempCelsius: 21.500001 }, false],
      [{ measuredAtMs: RECEIVED_MS + 1 }, false],
      [{ measuredAtMs: NaN, tempCelsius: 21 }, false],
    ]
    for (const [change, isSame] of rows) {
      expect(isSameContent(known, { ...known, ...change }), JSON.stringify(change)).to.equal(isSame)
    }
  })

  it('take times from the first to be taken up to a while ahead of the receipt', () => {
    const rows: [string, string | undefined][] = [
      ['2010-01-01T00:00:00.000Z', undefined],
      ['2009-12-31T23:59:59.999Z', 'timestamp_too_old'],
      ['2026-11-20T10:20:00.000Z', undefined],
      ['2026-11-20T10:20:00.001Z', 'timestamp_in_future'],
    ]
    for (const [time, code] of rows) {
      const fault = timeFault(Date.parse(time), RECEIVED_MS, RULES)
      expect(fault?.code, time).to.equal(code)
      if (fault !== undefined) expect(fault.detail).to.include(time)
    }
  })

  it('register sensors up to the limit of a user, and none where that is off', () => {
    const codeOf = (count: number, rules = RULES) => registrationFault('A1', count, rules)?.code
    expect([codeOf(1), codeOf(2), codeOf(Infinity)]).to.deep.equal([
      undefined,
      'sensor_quota',
      'sensor_quota',
    ])
    expect(codeOf(0, { ...RULES, mayRegisterSensors: false })).to.equal('unknown_sensor')
  })

  it('keep a million measurements of one millisecond apart', () => {
    expect(tieBreakFault(999_999)).to.equal(undefined)
    expect(tieBreakFault(1_000_000)?.code).to.equal('too_many_at_one_time')
  })

  it('refuse a submission for its measurements before its sensors', () => {
    const fault = (code: string): RequestFault => ({ pointer: '', code, detail: '' })
    const [old, quota, unknown] = [
      fault('timestamp_too_old'),
      fault('sensor_quota'),
      fault('unknown_sensor'),
    ]
    expect(refusalFor({ invalid: [], forbidden: [] })).to.equal(undefined)
    const both = refusalFor({ invalid: [old], forbidden: [quota] })
    expect([both?.code, both?.faults]).to.deep.equal(['validation_failed', [old]])
    expect(refusalFor({ invalid: [], forbidden: [quota] })?.code).to.equal('sensor_quota')
    expect(refusalFor({ invalid: [], forbidden: [unknown] })?.code).to.equal('unknown_sensor')
  })
})
