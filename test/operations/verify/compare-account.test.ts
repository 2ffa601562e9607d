import { expect } from 'chai'
import fc from 'fast-check'
import type { Outstanding, SensorAccount } from '../../../src/domain/sensor-account.ts'
import { compareDays, compareLatest } from '../../../src/operations/verify/compare-account.ts'

const DAY_MS = 86_400_000
const LATEST = { measuredAtMs: 5, rawCelsius: 1, gaveWayAtMs: 0 }

function outstanding(count = 0, measuredAtMs = 0): Outstanding {
  const atLatest = measuredAtMs === LATEST.measuredAtMs ? LATEST : undefined
  return { perDay: new Map(count === 0 ? [] : [[0, count]]), atLatest, later: undefined }
}

function account(accepted: number, pending = 0, setAside = 0): SensorAccount {
  return {
    sensorId: 1,
    accepted: new Map(accepted === 0 ? [] : [[0, accepted]]),
    latest: accepted === 0 ? undefined : LATEST,
    pending: outstanding(pending),
    setAside: outstanding(setAside),
  }
}

const any = () => true

describe('compareDays', () => {
  const compare = (before: SensorAccount, after: SensorAccount, found: number) =>
    compareDays({ before, after }, new Map(found === 0 ? [] : [[0, found]]), any)

  it('finds nothing when the store has just what was accepted', () => {
    expect(compare(account(10), account(10), 10)).to.deep.equal({ wrong: [], moving: [] })
  })

  it('does not expect what is set aside', () => {
    expect(compare(account(10, 0, 2), account(10, 0, 2), 8).wrong).to.deep.equal([])
    expect(compare(account(10, 0, 2), account(10, 0, 2), 10).wrong).to.have.length(1)
  })

  it('names what is missing, and what is too much', () => {
    expect(compare(account(10), account(12), 9).wrong).to.deep.equal([
      { dayMs: 0, kind: 'missing', expected: 10, found: 9 },
    ])
    expect(compare(account(10), account(12), 13).wrong).to.deep.equal([
      { dayMs: 0, kind: 'surplus', expected: 12, found: 13 },
    ])
    expect(compare(account(0), account(0), 1).wrong).to.have.length(1)
  })

  it('leaves open what is on its way', () => {
    expect(compare(account(10, 4), account(10, 4), 8)).to.deep.equal({ wrong: [], moving: [0] })
    expect(compare(account(10), account(12, 2), 11)).to.deep.equal({ wrong: [], moving: [0] })
  })

  it('looks at no other days than those that are meant', () => {
    const stored = new Map([[DAY_MS, 1]])
    const looked = { before: account(0), after: account(0) }
    expect(compareDays(looked, stored, (dayMs) => dayMs === 0).wrong).to.deep.equal([])
  })

  it('never calls a store wrong that has what it was given between the two looks', () => {
    const counts = fc.tuple(fc.nat(50), fc.nat(50), fc.nat(50), fc.nat(50))
    fc.assert(
      fc.property(counts, fc.nat(1_000), ([forwarded, arriving, pending, later], share) => {
        const before = account(forwarded + pending, pending)
        const after = account(forwarded + pending + later, arriving)
        const isHere = Math.round(((pending + later) * share) / 1_000)
        expect(compare(before, after, forwarded + isHere).wrong).to.deep.equal([])
      }),
    )
  })
})

describe('compareLatest', () => {
  const nothing = { atLatest: undefined, later: undefined }
  const compare = (change: Partial<SensorAccount>, stored = { ...nothing, atLatest: LATEST }) => {
    const before = { ...account(10), ...change }
    return compareLatest({ before, after: before }, stored, false)
  }

  it('is right when the newest measurement is the latest value', () => {
    expect(compare({})).to.equal('right')
    expect(compareLatest({ before: account(0), after: account(0) }, nothing, false)).to.equal(
      'right',
    )
  })

  it('takes the newest measurement from the journal while it is not stored', () => {
    const before = account(10, 1)
    const pending = outstanding(1, LATEST.measuredAtMs)
    const looked = { before: { ...before, pending }, after: before }
    expect(compareLatest(looked, nothing, false)).to.equal('right')
  })

  it('names one that is too old, of nothing, of another temperature, or not there', () => {
    const later = { measuredAtMs: 6, rawCelsius: 1 }
    const wrongs = [
      compareLatest({ before: account(1), after: account(1) }, { ...nothing, later }, false),
      compareLatest({ before: account(1), after: account(1) }, nothing, false),
      compare({ latest: { ...LATEST, rawCelsius: 2 } }),
      compare({ latest: undefined }),
    ]
    for (const wrong of wrongs) expect(wrong).to.have.property('wrong')
  })

  it('lets the latest value be of a measurement that was dropped', () => {
    expect(compareLatest({ before: account(1), after: account(1) }, nothing, true)).to.equal(
      'right',
    )
  })

  it('leaves open what changes between the two looks', () => {
    const after = { ...account(10), latest: { ...LATEST, measuredAtMs: 9 } }
    expect(compareLatest({ before: account(10), after }, nothing, false)).to.equal('moving')
  })
})
