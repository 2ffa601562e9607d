import { randomFillSync } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import type { LedgerRun } from '../../../src/sqlite/ledger/ledger-run.ts'
import { LineWriter } from '../../../src/sqlite/ledger/line-writer.ts'
import {
  belowWordOfLine,
  cutBelow,
  lineOf,
  FILTER_WORD,
  linesOf,
  mayBeIn,
  RunFilterProbe,
  wordsOf,
} from '../../../src/sqlite/ledger/run-filter.ts'

const KEYS = 200_000

describe('the filter of a run', () => {
  const inside = randomKeys(KEYS)
  const outside = randomKeys(KEYS)
  const run = runOf(inside)

  it('knows every key that was added', () => {
    for (let key = 0; key < KEYS; key++) expect(mayBeIn(run, inside, key * 4)).to.equal(true)
  })

  it('takes fewer than one in a thousand other keys for one of the run', () => {
    let taken = 0
    for (let key = 0; key < KEYS; key++) if (mayBeIn(run, outside, key * 4)) taken++
    expect(taken).to.be.lessThan(KEYS / 1_000)
  })

  it('says of many keys at once what it says of each', () => {
    const keys = Uint32Array.of(...inside.subarray(0, 12_000), ...outside.subarray(0, 40_000))
    const places = new Set(new RunFilterProbe().candidates(run, keys, 13_000))
    for (let key = 0; key < 13_000; key++) {
      expect(places.has(key)).to.equal(mayBeIn(run, keys, key * 4))
    }
  })

  it('knows every key however many fall into one line or one bucket', () => {
    const word = fc.oneof(
      fc.constantFrom(0, 1, 0x0200_0000, 0x8000_0000, 0xffff_ffff),
      fc.integer({ min: 0, max: 0xffff_ffff }),
    )
    const key = fc.tuple(fc.constantFrom(0, 7, 0xffff_ffff), word, word, fc.constant(0))
    fc.assert(
      fc.property(fc.array(key, { maxLength: 700, size: 'max' }), (words) => {
        const keys = Uint32Array.from(words.flat())
        const crowded = runOf(keys)
        const places = new RunFilterProbe().candidates(crowded, keys, words.length)
        expect(places).to.deep.equal([...words.keys()])
        words.forEach((_, at) => expect(mayBeIn(crowded, keys, at * 4)).to.equal(true))
      }),
      { numRuns: 200, endOnFailure: true },
    )
  })

  it('knows the keys from any first word on when the lines before are given back', () => {
    const probe = new RunFilterProbe()
    for (const firstWord of [0, 1, 0x4000_0000, 0xd000_0001, 0xffff_ffff]) {
      const left = cutBelow(cutBelow(run, firstWord / 2), firstWord)
      const keys = inside.filter((_, at) => inside[at - (at % 4)]! >= firstWord)
      expect(probe.candidates(left, keys, keys.length / 4)).to.have.length(keys.length / 4)
      for (let key = 0; key < keys.length; key += 4) expect(mayBeIn(left, keys, key)).to.equal(true)
      const share = 1 - firstWord / 2 ** 32
      expect(left.filter.length).to.be.closeTo(run.filter.length * share, 64)
    }
  })

  it('puts no key into a line before the one that it is in, however many lines there are', () => {
    const place = fc.double({ min: 0, max: 1, noNaN: true })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 24 }), place, (lines, share) => {
        const line = Math.floor(share * lines)
        const belowWord = belowWordOfLine(line, lines)
        if (belowWord > 0) expect(lineOf(lines, belowWord - 1)).to.be.lessThan(line)
        if (line < lines) expect(lineOf(lines, belowWord + 2)).to.be.at.least(line)
      }),
      { numRuns: 2_000 },
    )
  })

  it('takes less than two bytes a key', () => {
    expect(run.filter.byteLength / KEYS).to.be.lessThan(2)
  })
})

/** A run whose lines were closed in several stretches. */
function runOf(keys: Uint32Array): LedgerRun {
  const count = keys.length / 4
  const lines = linesOf({ events: count, filterWord: FILTER_WORD })
  const filter = new Uint32Array(wordsOf(lines))
  const writer = new LineWriter()
  for (let key = 0; key < count; key++) {
    const at = key * 4
    writer.add(lineOf(lines, keys[at] ?? 0), keys[at + 1] ?? 0, keys[at + 2] ?? 0)
  }
  for (let line = 0; line < lines; line += 100) {
    writer.close(filter, line, Math.min(line + 100, lines))
  }
  return { runNo: 1, events: count, blocks: 1, filter, firstLine: 0, filterWord: FILTER_WORD }
}

function randomKeys(count: number): Uint32Array {
  const keys = new Uint32Array(count * 4)
  for (let at = 0; at < keys.length; at += 16_384) randomFillSync(keys.subarray(at, at + 16_384))
  return keys
}
