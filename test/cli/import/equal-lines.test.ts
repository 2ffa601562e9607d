// Goal: equal lines are told apart by number, in whatever order and number they come. Method: the
// same answers as a Map gives, over random lines and over enough of them to grow the table.

import { expect } from 'chai'
import fc from 'fast-check'
import { hash } from 'node:crypto'
import { EqualLines } from '../../../src/cli/import/equal-lines.ts'

describe('EqualLines', () => {
  it('counts like a map', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 300 }), (lines) => {
        expect(countWithTable(lines)).to.deep.equal(countWithMap(lines))
      }),
    )
  })

  it('keeps its counts when it grows', () => {
    const lines = Array.from({ length: 120_000 }, (_, index) => index % 70_000)
    expect(countWithTable(lines)).to.deep.equal(countWithMap(lines))
  })
})

function countWithTable(lines: readonly number[]): number[] {
  const equal = new EqualLines()
  return lines.map((line) => equal.countBefore(hash('sha256', String(line), 'buffer')))
}

function countWithMap(lines: readonly number[]): number[] {
  const seen = new Map<number, number>()
  return lines.map((line) => {
    const before = seen.get(line) ?? 0
    seen.set(line, before + 1)
    return before
  })
}
