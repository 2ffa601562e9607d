// What each user may keep of what was refused.

import { expect } from 'chai'
import { refusedBytesMax, refusedUserBytesMax } from '../../src/domain/limits.ts'
import { refusedEntryBytes, refusedShare } from '../../src/domain/refused.ts'

const EIGHTH = refusedUserBytesMax

describe('the share of what was refused', () => {
  const CASES: Readonly<Record<string, [readonly number[], number]>> = {
    'of nobody is an eighth': [[], EIGHTH],
    'of few users is an eighth': [[EIGHTH, 10, EIGHTH * 2], EIGHTH],
    'of eight full users is an eighth': [Array<number>(8).fill(EIGHTH), EIGHTH],
    'is what those leave who have less': [
      [...Array<number>(8).fill(EIGHTH), EIGHTH / 2, 80],
      EIGHTH - EIGHTH / 16 - 10,
    ],
    'is the same for all who have more': [Array<number>(16).fill(EIGHTH), EIGHTH / 2],
  }
  for (const [name, [bytesOfUsers, share]] of Object.entries(CASES)) {
    it(name, () => {
      expect(refusedShare(bytesOfUsers)).to.equal(share)
      const kept = bytesOfUsers.map((bytes) => Math.min(bytes, share))
      expect(kept.reduce((sum, bytes) => sum + bytes, 0)).to.be.at.most(refusedBytesMax)
    })
  }
})

describe('the bytes of what was refused', () => {
  it('are those of its texts in UTF-8, and 256', () => {
    const of = { kind: 'line', unitNs: '1', serialNumberPrefix: '' }
    const texts = { content: 'aé', reason: 'ü°', fields: null }
    expect(refusedEntryBytes({ ...of, ...texts })).to.equal(256 + 3 + 4)
    expect(refusedEntryBytes({ ...of, ...texts, fields: [1, 2] })).to.equal(256 + 3 + 4 + 5)
  })
})
