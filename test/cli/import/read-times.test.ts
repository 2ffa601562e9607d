// Goal: a time of a file is read as exactly one instant, or named. Method: the forms that files
// have; local times around the changes of real zones, held against what those zones show.

import { expect } from 'chai'
import fc from 'fast-check'
import { LocalTimes } from '../../../src/cli/import/local-times.ts'
import { TimeReader } from '../../../src/cli/import/read-times.ts'
import { DAY_MS, MINUTE_MS } from '../../../src/domain/time.ts'

const START_MS = Date.UTC(2010, 0, 1)
const STOP_MS = Date.UTC(2026, 0, 1)

function createReader(zone?: string, startMs = START_MS): TimeReader {
  return new TimeReader({
    isUtc: false,
    localTimes: zone === undefined ? undefined : new LocalTimes(zone),
    isPossible: (atMs) => atMs >= startMs && atMs <= STOP_MS,
  })
}

function read(reader: TimeReader, time: unknown): string {
  const { atMs, fault } = reader.read(time)
  return fault ?? new Date(atMs).toISOString()
}

describe('TimeReader', () => {
  const zoned = [
    ['2020-01-01T00:00:00Z', '2020-01-01T00:00:00.000Z'],
    ['2020-01-01 02:00:00+02:00', '2020-01-01T00:00:00.000Z'],
    ['2020-07-01 12:00', '2020-07-01T10:00:00.000Z'],
    ['2020-01-01T12:00:00.25', '2020-01-01T11:00:00.250Z'],
    ['2020-03-29 01:59:59', '2020-03-29T00:59:59.000Z'],
    ['2020-03-29 02:00', 'timestamp "2020-03-29 02:00" does not exist in Europe/Berlin'],
    ['2020-03-29 03:00', '2020-03-29T01:00:00.000Z'],
    ['2020-10-25 02:59', 'timestamp "2020-10-25 02:59" exists twice in Europe/Berlin'],
    ['2020-10-25 03:00', '2020-10-25T02:00:00.000Z'],
    ['2020-02-30 03:00', 'timestamp "2020-02-30 03:00" is not a valid time (example: 2026-'],
  ] as const
  for (const [time, outcome] of zoned) {
    it(`reads ${time} in Berlin`, () => {
      expect(read(createReader('Europe/Berlin'), time).startsWith(outcome), outcome).to.equal(true)
    })
  }

  it('reads local times as the inverse of what clocks show', () => {
    const zones = ['Europe/Berlin', 'America/St_Johns', 'Australia/Lord_Howe', 'Pacific/Apia']
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.integer({ min: START_MS / MINUTE_MS, max: STOP_MS / MINUTE_MS }),
        (zone, minute) => {
          const atMs = minute * MINUTE_MS
          const options = { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' } as const
          const format = new Intl.DateTimeFormat('sv-SE', options)
          const text = format.format(atMs)
          const sameMs = [-1, -0.5, 0, 0.5, 1]
            .map((hours) => atMs + hours * 60 * MINUTE_MS)
            .filter((otherMs) => format.format(otherMs) === text)
          const result = createReader(zone).read(text)
          if (sameMs.length === 1) expect(result.atMs).to.equal(atMs)
          else expect(result.fault).to.match(/exists twice/)
        },
      ),
    )
  })

  it('knows a day that a zone skipped', () => {
    const reader = createReader('Pacific/Apia')
    expect(read(reader, '2011-12-30 12:00')).to.match(/does not exist in Pacific\/Apia$/)
    expect(read(reader, '2011-12-31 00:00')).to.equal('2011-12-30T10:00:00.000Z')
  })

  it('decides for the whole file whether Unix times are seconds or milliseconds', () => {
    const seconds = createReader()
    expect(read(seconds, '1700000000.001')).to.equal('2023-11-14T22:13:20.001Z')
    expect(read(seconds, 1_700_000_001)).to.equal('2023-11-14T22:13:21.000Z')
    // Out of bounds, as the rules will say.
    expect(read(seconds, '1700000000000')).to.match(/^\+055840-/)
    const ms = createReader()
    expect(read(ms, '1700000000001')).to.equal('2023-11-14T22:13:20.001Z')
    expect(read(ms, '1700000000')).to.equal('1970-01-20T16:13:20.000Z')
  })

  it('waits for a Unix time that makes sense', () => {
    const reader = createReader()
    for (const time of ['0', '20200101', '99999999999']) {
      expect(read(reader, time)).to.match(/is not a valid time/)
    }
    expect(read(reader, '1700000000000')).to.equal('2023-11-14T22:13:20.000Z')
  })

  it('refuses Unix times that make sense as both', () => {
    const reader = createReader(undefined, 10 * DAY_MS)
    expect(() => reader.read('1700000000')).to.throw(
      'the unit of Unix times is not clear: 1700000000 is 2023-11-14T22:13:20.000Z in seconds, ' +
        '1970-01-20T16:13:20.000Z in milliseconds',
    )
  })
})
