import { randomFillSync } from 'node:crypto'
import { expect } from 'chai'
import {
  addToFilter,
  FilterProbe,
  mayContain,
  newFilter,
} from '../../../src/sqlite/ledger/key-filter.ts'

const KEYS = 50_000

describe('the filter of a generation', () => {
  const inside = randomFillSync(new Uint32Array(KEYS * 4))
  const outside = randomFillSync(new Uint32Array(KEYS * 4))
  const filter = newFilter(KEYS, 10)
  for (let key = 0; key < KEYS; key++) addToFilter(filter, ...wordsOf(inside, key))

  it('knows every key that was added', () => {
    for (let key = 0; key < KEYS; key++) {
      expect(mayContain(filter, ...wordsOf(inside, key))).to.equal(true)
    }
  })

  it('takes fewer than one in eighty other keys for one of them', () => {
    let taken = 0
    for (let key = 0; key < KEYS; key++) if (mayContain(filter, ...wordsOf(outside, key))) taken++
    expect(taken).to.be.lessThan(KEYS / 80)
  })

  for (const lineWord of [0, 3]) {
    it(`says of many keys at once what it says of each, by word ${lineWord}`, () => {
      const own = newFilter(3_000, 10)
      const keys = Uint32Array.of(...inside.subarray(0, 12_000), ...outside.subarray(0, 12_000))
      for (let key = 0; key < 3_000; key++) {
        const [, w1, w2] = wordsOf(keys, key)
        addToFilter(own, keys[key * 4 + lineWord] ?? 0, w1, w2)
      }
      const asked = Array.from({ length: 6_000 }, (_, key) => key).filter((key) => key % 5 > 0)
      const places = new Set(new FilterProbe().candidates(own, lineWord, keys, asked))
      for (const key of asked) {
        const [, w1, w2] = wordsOf(keys, key)
        const isKnown = mayContain(own, keys[key * 4 + lineWord] ?? 0, w1, w2)
        expect(places.has(key)).to.equal(isKnown)
      }
    })
  }

  it('takes less than two bytes a key', () => {
    expect((filter.length * 4) / KEYS).to.be.lessThan(2)
  })
})

function wordsOf(keys: Uint32Array, key: number): [number, number, number] {
  const [w0 = 0, w1 = 0, w2 = 0] = keys.subarray(key * 4, key * 4 + 3)
  return [w0, w1, w2]
}
