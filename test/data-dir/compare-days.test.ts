// Goal: a move is not called complete while one sensor has another number of measurements on one
// day. Method: days that are missing on one side or the other, or differ; and so many of them that
// nobody would read all.

import { expect } from 'chai'
import { compareMovedDays } from '../../src/data-dir/compare-days.ts'
import type { CountedDay } from '../../src/ports/moved-data.ts'

type Days = readonly (readonly [sensorId: number, day: number, measurements: number])[]

describe('comparing the two sides of a move', () => {
  let compared = 0
  beforeEach(() => {
    compared = 0
  })

  const compare = (here: Days, there: Days) => {
    const source = { measurements: { total: () => sum(here) }, countDays: () => counted(here) }
    async function* countDays() {
      yield* counted(there)
    }
    const progress = { begin: () => undefined, advance: (amount: number) => (compared += amount) }
    return compareMovedDays({ source, target: { name: 'the other', countDays } }, progress)
  }

  it('finds nothing where they are equal', async () => {
    const days: Days = [
      [1, 20_000, 5],
      [1, 20_002, 7],
      [3, -1, 1],
    ]
    expect(await compare(days, days)).to.deep.equal([])
    expect(compared).to.equal(13)
    expect(await compare([], [])).to.deep.equal([])
  })

  it('names each day that differs, in order', async () => {
    const here: Days = [
      [1, 20_000, 5],
      [2, 20_000, 4],
      [4, 0, 1],
    ]
    const there: Days = [
      [1, 20_000, 6],
      [1, 20_001, 2],
      [2, 20_000, 4],
      [3, 20_000, 8],
    ]
    expect(await compare(here, there)).to.deep.equal([
      'sensor 1, 2024-10-04: 5 here, 6 in the other',
      'sensor 1, 2024-10-05: 0 here, 2 in the other',
      'sensor 3, 2024-10-04: 0 here, 8 in the other',
      'sensor 4, 1970-01-01: 1 here, 0 in the other',
    ])
    expect(compared).to.equal(10)
  })

  it('counts those that are too many to be named', async () => {
    const here: Days = Array.from({ length: 25 }, (_, at) => [1, at, 1])
    const differences = await compare(here, [])
    expect(differences).to.have.lengthOf(21)
    expect(differences.at(-1)).to.equal('and 5 more')
  })
})

function* counted(days: Days): Generator<CountedDay> {
  for (const [sensorId, day, measurements] of days) yield { sensorId, day, measurements }
}

function sum(days: Days): number {
  return days.reduce((total, [, , measurements]) => total + measurements, 0)
}
