import { expect } from 'chai'
import * as fc from 'fast-check'
import { ServiceError } from '../../src/domain/errors.ts'
import type { Bucket, HistoryQuestion, ResolvedQuestion } from '../../src/domain/history.ts'
import { resolveQuestion } from '../../src/history/buckets.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
const NOW_MS = Date.parse('2026-11-20T10:15:02.113Z')

function ask(
  question: Partial<HistoryQuestion> & { from?: string; to?: string },
): ResolvedQuestion {
  const { from, to, ...rest } = question
  const fromMs = from === undefined ? {} : { fromMs: Date.parse(from) }
  const toMs = to === undefined ? {} : { toMs: Date.parse(to) }
  return resolveQuestion({ isFilled: false, ...rest, ...fromMs, ...toMs }, NOW_MS)
}

function refusal(question: Parameters<typeof ask>[0]): ServiceError {
  try {
    ask(question)
  } catch (error) {
    if (error instanceof ServiceError) return error
  }
  throw new Error('the question was not refused')
}

/** A period of this length that begins on every edge. */
function period(lengthMs: number): { fromMs: number; toMs: number } {
  const fromMs = Date.UTC(2026, 0, 1)
  return { fromMs, toMs: fromMs + lengthMs }
}

describe('resolveQuestion', () => {
  it('takes the last 24 hours up to the end of the current minute by default', () => {
    expect(ask({})).to.deep.equal({
      fromMs: Date.parse('2026-11-19T10:16:00Z'),
      toMs: Date.parse('2026-11-20T10:16:00Z'),
      bucket: 'minute',
      timeZone: 'UTC',
      isFilled: false,
    })
  })

  it('counts the default start from the end that was asked for', () => {
    const { fromMs } = ask({ to: '2026-05-02T00:00:00Z' })
    expect(fromMs).to.equal(Date.parse('2026-05-01T00:00:00Z'))
  })

  it('takes the start down and the stop up to edges of buckets', () => {
    const asked = { from: '2026-05-01T10:07:31Z', to: '2026-05-01T12:00:00.001Z' }
    const edges = (bucket: Bucket): string[] => {
      const { fromMs, toMs } = ask({ ...asked, bucket })
      return [fromMs, toMs].map((atMs) => new Date(atMs).toISOString().slice(5, 23))
    }
    expect(edges('raw')).to.deep.equal(['05-01T10:07:31.000', '05-01T12:00:00.001'])
    expect(edges('minute')).to.deep.equal(['05-01T10:07:00.000', '05-01T12:01:00.000'])
    expect(edges('5min')).to.deep.equal(['05-01T10:05:00.000', '05-01T12:05:00.000'])
    expect(edges('15min')).to.deep.equal(['05-01T10:00:00.000', '05-01T12:15:00.000'])
    expect(edges('hour')).to.deep.equal(['05-01T10:00:00.000', '05-01T13:00:00.000'])
    expect(edges('day')).to.deep.equal(['05-01T00:00:00.000', '05-02T00:00:00.000'])
  })

  it('takes edges of local days for a day with a time zone', () => {
    const question = { from: '2026-03-28T23:30:00Z', to: '2026-03-29T21:59:00Z' }
    const { fromMs, toMs } = ask({ ...question, bucket: 'day', timeZone: 'Europe/Berlin' })
    expect(new Date(fromMs).toISOString()).to.equal('2026-03-28T23:00:00.000Z')
    expect(toMs - fromMs).to.equal(23 * HOUR_MS)
  })

  const AUTO: readonly (readonly [number, Bucket])[] = [
    [1, 'raw'],
    [HOUR_MS, 'raw'],
    [HOUR_MS + 1, 'minute'],
    [1_500 * MINUTE_MS, 'minute'],
    [1_500 * MINUTE_MS + 1, '5min'],
    [7_500 * MINUTE_MS, '5min'],
    [7_500 * MINUTE_MS + 1, '15min'],
    [22_500 * MINUTE_MS, '15min'],
    [22_500 * MINUTE_MS + 1, 'hour'],
    [1_500 * HOUR_MS, 'hour'],
    [1_500 * HOUR_MS + 1, 'day'],
    [4_000 * DAY_MS, 'day'],
  ]
  for (const [lengthMs, bucket] of AUTO) {
    it(`resolves auto to ${bucket} for ${lengthMs} ms`, () => {
      expect(ask({ ...period(lengthMs), bucket: 'auto' }).bucket).to.equal(bucket)
    })
  }

  it('counts the buckets that auto touches, not the length of the period', () => {
    const { fromMs, toMs } = period(1_500 * MINUTE_MS)
    expect(ask({ fromMs: fromMs + 1, toMs: toMs + 1 }).bucket).to.equal('5min')
  })

  it('lets raw have exactly seven days and no more', () => {
    expect(ask({ ...period(7 * DAY_MS), bucket: 'raw' }).bucket).to.equal('raw')
    const { code, members } = refusal({ ...period(7 * DAY_MS + 1), bucket: 'raw' })
    expect(code).to.equal('range_too_large')
    expect(members).to.deep.equal({ max_period: 'P7D', suggested_bucket: '15min' })
  })

  it('fills at most 10,000 buckets and names a coarser one that fits', () => {
    const filled = { bucket: 'minute', isFilled: true } as const
    expect(ask({ ...period(10_000 * MINUTE_MS), ...filled }).isFilled).to.equal(true)
    const { code, members } = refusal({ ...period(10_000 * MINUTE_MS + 1), ...filled })
    expect(code).to.equal('range_too_large')
    expect(members).to.deep.equal({ max_period: 'P6DT22H40M', suggested_bucket: '5min' })
  })

  it('suggests nothing when not even days fit', () => {
    for (const timeZone of [{}, { timeZone: 'Europe/Berlin' }]) {
      const question = { ...period(10_002 * DAY_MS), bucket: 'day', isFilled: true } as const
      const { members } = refusal({ ...question, ...timeZone })
      expect(members).to.deep.equal({ max_period: 'P10000D' })
    }
  })

  it('never limits what is not filled', () => {
    const { bucket } = ask({ from: '0001-01-01T00:00:00Z', to: '9999-01-01T00:00:00Z' })
    expect(bucket).to.equal('day')
  })

  it('names every fault of a question at once', () => {
    const { code, message, faults } = refusal({
      from: '2026-05-02T00:00:00Z',
      to: '2026-05-02T00:00:00Z',
      bucket: 'raw',
      timeZone: 'Mars/Olympus',
      isFilled: true,
    })
    expect(code).to.equal('validation_failed')
    expect(message).to.equal('The query parameters are not valid.')
    expect(faults?.map((fault) => [fault.pointer, fault.code])).to.deep.equal([
      ['/from', 'from_not_before_to'],
      ['/tz', 'time_zone_not_allowed'],
      ['/tz', 'unknown_time_zone'],
      ['/fill', 'fill_not_allowed'],
    ])
  })

  it('takes a time zone and fill with auto, whatever it resolves to', () => {
    const question = { ...period(HOUR_MS), timeZone: 'Asia/Tokyo', isFilled: true }
    const { bucket, timeZone, isFilled } = ask(question)
    expect([bucket, timeZone, isFilled]).to.deep.equal(['raw', 'Asia/Tokyo', false])
    const hours = ask({ ...question, toMs: question.fromMs + 60 * DAY_MS })
    expect([hours.bucket, hours.timeZone, hours.isFilled]).to.deep.equal([
      'hour',
      'Asia/Tokyo',
      true,
    ])
  })

  it('covers what was asked and answers its own answer with itself', () => {
    const atMs = fc.integer({ min: Date.UTC(2010, 0, 1), max: Date.UTC(2035, 0, 1) })
    const lengthMs = fc.oneof(
      fc.integer({ min: 1, max: DAY_MS }),
      fc.integer({ min: 1, max: 1e12 }),
    )
    const zone = fc.constantFrom('UTC', 'Asia/Kathmandu', 'America/St_Johns', 'Pacific/Apia')
    fc.assert(
      fc.property(atMs, lengthMs, zone, (fromMs, durationMs, timeZone) => {
        const toMs = fromMs + durationMs
        for (const bucket of ['minute', '5min', '15min', 'hour', 'day'] as const) {
          const zoned = bucket === 'day' ? { timeZone } : {}
          const resolved = ask({ fromMs, toMs, bucket, ...zoned })
          expect(resolved.fromMs).to.be.at.most(fromMs)
          expect(resolved.toMs).to.be.at.least(toMs)
          const again = ask({ fromMs: resolved.fromMs, toMs: resolved.toMs, bucket, ...zoned })
          expect(again).to.deep.equal(resolved)
        }
      }),
    )
  })
})
