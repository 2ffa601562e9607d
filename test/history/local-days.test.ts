// Goal: every instant belongs to exactly one day, the one that a calendar of the zone shows.
// Method: an oracle that only asks Intl for the local date, minute by minute, and notes when a date
// later than all before appears.

import { expect } from 'chai'
import * as fc from 'fast-check'
import { LocalDays, isTimeZone } from '../../src/history/local-days.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000

function localDates(timeZone: string): (atMs: number) => string {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' })
  return (atMs) => format.format(atMs)
}

/** Instants at which a new date appears, in steps of `stepMs`. */
function scanEdges(timeZone: string, range: readonly [number, number], stepMs: number): string[] {
  const dateAt = localDates(timeZone)
  const edges: string[] = []
  let latest = dateAt(range[0] - 26 * HOUR_MS)
  for (let atMs = range[0] - 26 * HOUR_MS; atMs < range[1]; atMs += stepMs) {
    const date = dateAt(atMs)
    if (date > latest && atMs >= range[0]) edges.push(new Date(atMs).toISOString())
    if (date > latest) latest = date
  }
  return edges
}

function edgesOf(timeZone: string, range: readonly [number, number]): string[] {
  const days = new LocalDays(timeZone)
  const edges: string[] = []
  const firstMs = days.startOf(range[0]) === range[0] ? range[0] : days.stopOf(range[0])
  for (let atMs = firstMs; atMs < range[1]; atMs = days.stopOf(atMs)) {
    edges.push(new Date(atMs).toISOString())
  }
  return edges
}

// What is particular about each zone at that time.
const CASES = [
  { timeZone: 'Europe/Berlin', at: '2026-03-29', what: 'a day of 23 hours' },
  { timeZone: 'Europe/Berlin', at: '2026-10-25', what: 'a day of 25 hours' },
  { timeZone: 'America/New_York', at: '2026-11-01', what: 'the west' },
  { timeZone: 'Asia/Kathmandu', at: '2026-05-05', what: 'an offset of 5:45' },
  { timeZone: 'Australia/Lord_Howe', at: '2026-04-05', what: 'a change of half an hour' },
  { timeZone: 'Pacific/Chatham', at: '2026-09-27', what: 'an offset of 12:45 and a change' },
  { timeZone: 'Pacific/Apia', at: '2011-12-30', what: 'a skipped day' },
  { timeZone: 'Pacific/Kwajalein', at: '1993-08-21', what: 'another skipped day' },
  { timeZone: 'America/Sao_Paulo', at: '2018-11-04', what: 'no midnight' },
  { timeZone: 'America/Sao_Paulo', at: '2018-02-18', what: 'a clock put back at midnight' },
  { timeZone: 'Asia/Beirut', at: '2023-03-30', what: 'no midnight' },
  { timeZone: 'America/Havana', at: '2025-11-02', what: 'two midnights' },
  { timeZone: 'America/St_Johns', at: '2006-10-29', what: 'a clock put back over midnight' },
  { timeZone: 'Africa/Casablanca', at: '2026-02-15', what: 'a change that is put back' },
  { timeZone: 'Antarctica/Troll', at: '2026-03-29', what: 'a change of two hours' },
]

describe('LocalDays', () => {
  for (const { timeZone, at, what } of CASES) {
    it(`finds the edges of days in ${timeZone} around ${at}: ${what}`, () => {
      const range = [Date.parse(at) - 2 * DAY_MS, Date.parse(at) + 3 * DAY_MS] as const
      expect(edgesOf(timeZone, range)).to.deep.equal(scanEdges(timeZone, range, MINUTE_MS))
    })
  }

  it('finds edges of offsets that are no full minutes', () => {
    const middleMs = Date.UTC(1972, 0, 7)
    const range = [middleMs - HOUR_MS, middleMs + DAY_MS + HOUR_MS] as const
    const edges = edgesOf('Africa/Monrovia', range)
    expect(edges).to.deep.equal(scanEdges('Africa/Monrovia', range, SECOND_MS))
    expect(edges[0]).to.equal('1972-01-07T00:44:30.000Z')
  })

  it('knows days of every zone and time', () => {
    const zone = fc.constantFrom(...Intl.supportedValuesOf('timeZone'))
    const instant = fc.integer({ min: Date.UTC(1972, 1, 1), max: Date.UTC(2037, 0, 1) })
    fc.assert(
      fc.property(zone, instant, (timeZone, atMs) => {
        const days = new LocalDays(timeZone)
        const [startMs, stopMs] = [days.startOf(atMs), days.stopOf(atMs)]
        const dateAt = localDates(timeZone)
        const date = dateAt(startMs)
        expect(startMs).to.be.at.most(atMs)
        expect(stopMs).to.be.above(atMs)
        expect(dateAt(startMs - 1) < date, 'an earlier date before').to.equal(true)
        expect(dateAt(stopMs) > date, 'a later date after').to.equal(true)
        for (let insideMs = startMs; insideMs < stopMs; insideMs += HOUR_MS / 2) {
          expect(dateAt(insideMs) <= date, 'no later date inside').to.equal(true)
        }
        expect(days.startOf(stopMs)).to.equal(stopMs)
        expect(days.startOf(stopMs - 1)).to.equal(startMs)
      }),
      { numRuns: 300 },
    )
  })

  it('has days in the first and the last year that can be asked for', () => {
    const days = new LocalDays('Europe/Berlin')
    for (const text of ['0001-06-01T12:00:00Z', '9999-06-01T12:00:00Z']) {
      const atMs = Date.parse(text)
      expect(days.stopOf(atMs) - days.startOf(atMs)).to.equal(DAY_MS)
    }
  })

  it('gathers days by the coarsest windows that add up to them', () => {
    const days = new LocalDays('Australia/Lord_Howe')
    const range = {
      startMs: days.startOf(Date.UTC(2026, 3, 2)),
      stopMs: days.startOf(Date.UTC(2026, 3, 10)),
    }
    const stretches = [...days.stretches(range, 1_000)]
    const windows = stretches.map(({ windowMs }) => windowMs)
    expect(windows).to.deep.equal([HOUR_MS, 15 * MINUTE_MS])
    expect(stretches[0]?.startMs).to.equal(range.startMs)
    expect(stretches[0]?.stopMs).to.equal(stretches[1]?.startMs)
    expect(stretches[1]?.stopMs).to.equal(range.stopMs)
  })

  it('leaves a stretch without windows where edges lie within a minute', () => {
    const days = new LocalDays('Africa/Monrovia')
    const startMs = days.startOf(Date.UTC(1971, 5, 1))
    const [stretch] = days.stretches({ startMs, stopMs: days.stopOf(startMs) }, 1_000)
    expect(stretch?.windowMs).to.equal(undefined)
  })

  it('makes no stretch longer than asked', () => {
    const days = new LocalDays('Europe/Berlin')
    const startMs = days.startOf(Date.UTC(2026, 0, 1))
    const stopMs = days.startOf(Date.UTC(2026, 0, 26))
    const stretches = [...days.stretches({ startMs, stopMs }, 10)]
    expect(stretches.map((part) => (part.stopMs - part.startMs) / DAY_MS)).to.deep.equal([
      10, 10, 5,
    ])
  })
})

describe('isTimeZone', () => {
  it('takes names of the IANA database', () => {
    for (const name of ['Europe/Berlin', 'UTC', 'America/Argentina/Buenos_Aires', 'Etc/GMT+1']) {
      expect(isTimeZone(name), name).to.equal(true)
    }
  })

  it('refuses all else, bare offsets too', () => {
    for (const name of ['', 'Mars/Olympus', '+02:00', '-05', 'Europe/Berlin ', '\u0000']) {
      expect(isTimeZone(name), JSON.stringify(name)).to.equal(false)
    }
  })
})
