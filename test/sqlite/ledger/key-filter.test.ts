import { randomFillSync } from 'node:crypto'
import { expect } from 'chai'
import { addToFilter, filterWords, mayContain } from '../../../src/sqlite/ledger/key-filter.ts'

const KEYS = 50_000

describe('the filter of a run', () => {
  const inside = randomFillSync(new Uint32Array(KEYS * 4))
  const outside = randomFillSync(new Uint32Array(KEYS * 4))
  const filter = new Uint32Array(filterWords(KEYS))
  for (let key = 0; key < KEYS; key++) addToFilter(filter, ...wordsOf(inside, key))

  it('knows every key that was added', () => {
    for (let key = 0; key < KEYS; key++) {
      expect(mayContain(filter, ...wordsOf(inside, key))).to.equal(true)
    }
  })

  it('takes fewer than one in two hundred other keys for one of them', () => {
    let taken = 0
    for (let key = 0; key < KEYS; key++) if (mayContain(filter, ...wordsOf(outside, key))) taken++
    expect(taken).to.be.lessThan(KEYS / 200)
  })

  it('takes less than two bytes a key', () => {
    expect((filter.length * 4) / KEYS).to.be.lessThan(2)
  })
})

function wordsOf(keys: Uint32Array, key: number): [number, number, number] {
  const [w0 = 0, w1 = 0, w2 = 0] = keys.subarray(key * 4, key * 4 + 3)
  return [w0, w1, w2]
}
