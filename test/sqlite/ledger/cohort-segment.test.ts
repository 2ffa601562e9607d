// Goal: a key is found with the slots of all runs that have it, however often its segment was made
// again, and few others are.

import { randomInt } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import {
  EMPTY_SEGMENT,
  mayBeInSlot,
  POSITION_BITS,
  positionOf,
  SLOTS,
} from '../../../src/sqlite/ledger/cohort-segment.ts'
import type { Segment } from '../../../src/sqlite/ledger/cohort-segment.ts'
import { SegmentMerger } from '../../../src/sqlite/ledger/cohort-segment-merger.ts'
import { CohortProbe } from '../../../src/sqlite/ledger/cohort.ts'

/** As many as a segment has when runs have eight million events. */
const KEYS_OF_RUN = 33_000

const position = fc.oneof(
  fc.integer({ min: 0, max: 2 ** POSITION_BITS - 1 }),
  fc.integer({ min: 0, max: 300 }),
  fc.constantFrom(0, 1, 2 ** 26, 2 ** POSITION_BITS - 1),
)

describe('a segment of the filter of a cohort', () => {
  it('knows every key of every run, however many fall into one bin or one quotient', () => {
    const runs = fc.array(fc.array(position, { maxLength: 900, size: 'max' }), {
      maxLength: SLOTS,
    })
    fc.assert(
      fc.property(runs, (positionsOf) => {
        const segment = segmentOf(positionsOf)
        expect(segment[1]).to.equal(positionsOf.flat().length)
        positionsOf.forEach((positions, slot) => {
          for (const at of positions) expect(mayBeInSlot(segment, at, slot)).to.equal(true)
        })
      }),
      { numRuns: 40, endOnFailure: true },
    )
  })

  it('knows nothing else of what it has whole', () => {
    const few = fc.uniqueArray(position, { maxLength: 600, size: 'max' })
    fc.assert(
      fc.property(few, few, (one, other) => {
        const segment = segmentOf([one, other])
        for (const [slot, positions] of [other, one].entries()) {
          for (const at of positions) {
            expect(mayBeInSlot(segment, at, slot)).to.equal([one, other][slot]!.includes(at))
          }
        }
      }),
      { numRuns: 100 },
    )
  })

  for (const { runs, oneIn, bytes } of [
    { runs: 1, oneIn: 3_000, bytes: 2.6 },
    { runs: 12, oneIn: 300, bytes: 1.85 },
    { runs: 16, oneIn: 220, bytes: 1.8 },
  ]) {
    it(`of ${runs} runs takes fewer than one in ${oneIn} other keys for one of them`, () => {
      const segment = segmentOf(Array.from({ length: runs }, () => randomPositions(KEYS_OF_RUN)))
      const segments = Array<Segment>(256).fill(segment)
      const others = randomKeys(300_000)
      let taken = 0
      new CohortProbe().findCandidates(segments, others, placesTo(300_000), () => taken++)
      expect(taken).to.be.lessThan(300_000 / oneIn)
      expect(segment.byteLength / (runs * KEYS_OF_RUN)).to.be.lessThan(bytes)
    })
  }

  it('says of many keys at once what it says of each', () => {
    const runs = [1, 2, 3].map(() => randomPositions(20_000))
    const segments = Array.from({ length: 256 }, (_, no) =>
      no < 128 ? segmentOf(runs) : EMPTY_SEGMENT,
    )
    const keys = randomKeys(20_000)
    for (let at = 0; at < 6_000; at++) {
      const known = runs[at % 3]![at]!
      keys[at * 4] = (randomInt(256) * 2 ** 24 + (known >>> 3)) >>> 0
      keys[at * 4 + 1] = (known << 29) >>> 0
    }
    const found = new Set<string>()
    const probe = new CohortProbe()
    probe.findCandidates(segments, keys, placesTo(20_000), (at, slots) => {
      for (let slot = 0; slot < SLOTS; slot++) if ((slots >>> slot) & 1) found.add(`${at} ${slot}`)
    })
    for (let at = 0; at < 20_000; at++) {
      const [w0 = 0, w1 = 0] = keys.subarray(at * 4)
      for (const slot of [0, 1, 2, 3]) {
        const isFound = mayBeInSlot(segments[w0 >>> 24]!, positionOf(w0, w1), slot)
        expect(found.has(`${at} ${slot}`)).to.equal(isFound)
        if (at < 6_000 && slot === at % 3 && w0 < 2 ** 31) expect(isFound).to.equal(true)
      }
    }
  })
})

function segmentOf(positionsOf: readonly (readonly number[])[]): Segment {
  const merger = new SegmentMerger()
  return positionsOf.reduce(
    (segment, positions, slot) => merger.merge(segment, Int32Array.from(positions), slot),
    EMPTY_SEGMENT,
  )
}

function placesTo(count: number): number[] {
  return Array.from({ length: count }, (_, place) => place)
}

function randomPositions(count: number): number[] {
  return Array.from({ length: count }, () => randomInt(2 ** POSITION_BITS))
}

function randomKeys(count: number): Uint32Array {
  return Uint32Array.from({ length: count * 4 }, () => randomInt(2 ** 32))
}
