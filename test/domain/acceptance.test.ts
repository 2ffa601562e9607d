import { expect } from 'chai'
import { isSameContent, SubmissionFaults } from '../../src/domain/acceptance.ts'

const RECEIVED_MS = Date.parse('2026-11-20T10:15:00Z')
const RULES = {
  mayRegisterSensors: true,
  sensorsPerUserMax: 2,
  futureMsMax: 300_000,
  measuredAtMsMin: Date.parse('2010-01-01T00:00:00Z'),
}

/** Why a submission is refused after some checks. */
function refusalAfter(check: (faults: SubmissionFaults) => void, rules = RULES) {
  const faults = new SubmissionFaults(rules)
  check(faults)
  return faults.rejection(false)
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
      const refusal = refusalAfter((all) => all.checkTime(3, Date.parse(time), RECEIVED_MS))
      const fault = refusal?.faults[0]
      expect(fault?.code, time).to.equal(code)
      if (fault === undefined) continue
      expect(fault.detail).to.include(time)
      expect(fault.index).to.equal(3)
    }
  })

  it('register sensors up to the limit of a user, and none where that is off', () => {
    const codeOf = (count: number, rules = RULES) => {
      const refusal = refusalAfter((faults) => faults.checkRegistration(0, 'A1', count), rules)
      expect(refusal?.faults[0]?.code).to.equal(refusal?.code)
      return refusal?.code
    }
    expect([codeOf(1), codeOf(2), codeOf(Infinity)]).to.deep.equal([
      undefined,
      'sensor_quota',
      'sensor_quota',
    ])
    expect(codeOf(0, { ...RULES, mayRegisterSensors: false })).to.equal('unknown_sensor')
  })

  it('keep a million measurements of one millisecond apart', () => {
    const refusal = (next: number) => refusalAfter((faults) => faults.checkTieBreak(0, next))
    expect(refusal(999_999)).to.equal(undefined)
    expect(refusal(1_000_000)?.faults[0]?.code).to.equal('too_many_at_one_time')
  })

  it('refuse a submission for its measurements before its sensors', () => {
    expect(refusalAfter(() => undefined)).to.equal(undefined)
    const both = refusalAfter((faults) => {
      expect(faults.checkRegistration(0, 'A1', 2)).to.equal(false)
      expect(faults.checkTime(1, 0, RECEIVED_MS)).to.equal(false)
    })
    expect(both?.code).to.equal('validation_failed')
    expect(both?.faults.map(({ code }) => code)).to.deep.equal(['timestamp_too_old'])
  })
})
