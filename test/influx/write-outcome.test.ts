import { expect } from 'chai'
import { readRetryAfter, writeOutcome } from '../../src/influx/write-outcome.ts'
import type { WriteOutcome } from '../../src/influx/write-outcome.ts'

const NOW_MS = Date.UTC(2026, 10, 20)

const own = (code: string, message = 'said by InfluxDB') => JSON.stringify({ code, message })
const partial = own('unprocessable entity', 'partial write: points beyond retention dropped=3')

type Row = [status: number, body: string, kind: WriteOutcome['kind'], isUnknown?: boolean]

const ROWS: readonly Row[] = [
  [204, '', 'accepted'],
  [200, '<html>a page of another server</html>', 'paused'],
  [302, '', 'paused'],
  [400, own('invalid', 'unable to parse'), 'rejected'],
  [400, 'Client sent an HTTP request to an HTTPS server.', 'paused'],
  [401, own('unauthorized'), 'paused'],
  [401, '', 'paused'],
  [403, own('forbidden'), 'paused'],
  [404, own('not found', 'bucket "x" not found'), 'paused'],
  [404, 'no such page', 'paused'],
  [405, '', 'paused'],
  [408, '', 'kept', true],
  [413, '<html>too large</html>', 'too_large'],
  [422, partial, 'rejected_in_part'],
  [422, 'not of InfluxDB', 'paused'],
  [425, '', 'kept', true],
  [429, own('too many requests'), 'kept', false],
  [500, own('internal error'), 'kept', true],
  [502, '<html>bad gateway</html>', 'kept', true],
  [503, own('unavailable'), 'kept', true],
  [504, '', 'kept', true],
]

describe('writeOutcome', () => {
  for (const [status, body, kind, isUnknown] of ROWS) {
    it(`takes ${status} ${body.slice(0, 40)} as ${kind.replaceAll('_', ' ')}`, () => {
      const outcome = writeOutcome({ status, headers: {}, body }, NOW_MS)
      expect(outcome.kind).to.equal(kind)
      if (outcome.kind === 'kept') expect(outcome.isOutcomeUnknown).to.equal(isUnknown)
    })
  }

  it('passes on when to come back, and why', () => {
    const headers = { 'retry-after': '7' }
    const outcome = writeOutcome({ status: 503, headers, body: own('unavailable') }, NOW_MS)
    expect(outcome).to.deep.equal({
      kind: 'kept',
      reason: 'said by InfluxDB (status 503)',
      retryAfterMs: 7_000,
      isOutcomeUnknown: true,
    })
  })

  it('reads how many lines were dropped', () => {
    const outcome = writeOutcome({ status: 422, headers: {}, body: partial }, NOW_MS)
    expect(outcome).to.have.property('droppedLines', 3)
  })

  it('names the setting that is wrong', () => {
    const reasonOf = (status: number, body: string) => {
      const outcome = writeOutcome({ status, headers: {}, body }, NOW_MS)
      return outcome.kind === 'paused' ? outcome.reason : ''
    }
    expect(reasonOf(401, own('unauthorized'))).to.match(/^INFLUX_TOKEN is not accepted/)
    expect(reasonOf(403, own('forbidden'))).to.match(/^INFLUX_TOKEN may not write/)
    expect(reasonOf(404, own('not found'))).to.match(/^INFLUX_ORG or INFLUX_BUCKET/)
    expect(reasonOf(404, 'nothing here')).to.match(/^INFLUX_URL/)
  })
})

describe('readRetryAfter', () => {
  const rows: readonly [string | undefined, number | undefined][] = [
    [undefined, undefined],
    ['0', 0],
    ['120', 120_000],
    ['Fri, 20 Nov 2026 00:00:30 GMT', 30_000],
    ['Thu, 19 Nov 2026 00:00:00 GMT', 0],
    ['soon', undefined],
    ['-5 minutes', undefined],
  ]
  for (const [text, expectedMs] of rows) {
    it(`takes ${text} as ${expectedMs} ms`, () => {
      expect(readRetryAfter(text, NOW_MS)).to.equal(expectedMs)
    })
  }
})
