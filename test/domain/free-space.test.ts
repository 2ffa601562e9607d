// Goal: what has to stay free is never less than what is still written once nothing is admitted,
// and data are only begun where twice as much is free. Method: the rules on volumes of all sizes.

import { expect } from 'chai'
import { readFreeSpace } from '../../src/config-values.ts'
import { freeSpaceAtFirst, freeSpaceMin } from '../../src/domain/free-space.ts'
import { lastWritesBytesMax, logBytesMax } from '../../src/domain/limits.ts'

const GIB = 2 ** 30
const DEFAULT = readFreeSpace('2%, 256MiB')

describe('freeSpaceMin', () => {
  it('is a share of the volume, between what is still written and the size', () => {
    expect(freeSpaceMin(DEFAULT, GIB)).to.equal(lastWritesBytesMax)
    expect(freeSpaceMin(DEFAULT, 12 * GIB)).to.equal(0.02 * 12 * GIB)
    expect(freeSpaceMin(DEFAULT, 1_000 * GIB)).to.equal(GIB / 4)
  })

  it('is never less because of the setting, unless that turns it off', () => {
    expect(freeSpaceMin(readFreeSpace('10MiB'), 100 * GIB)).to.equal(lastWritesBytesMax)
    expect(freeSpaceMin(readFreeSpace('0.001%'), 100 * GIB)).to.equal(lastWritesBytesMax)
    expect(freeSpaceMin(readFreeSpace('0'), GIB)).to.equal(0)
    expect(freeSpaceMin(readFreeSpace('10GiB'), 100 * GIB)).to.equal(10 * GIB)
  })

  it('has room for all logs', () => {
    const { control, ledger, measurements } = logBytesMax
    expect(lastWritesBytesMax).to.be.within(control + ledger + measurements, GIB / 4)
  })
})

describe('freeSpaceAtFirst', () => {
  it('is twice as much', () => {
    expect(freeSpaceAtFirst(DEFAULT, GIB)).to.equal(2 * lastWritesBytesMax)
    expect(freeSpaceAtFirst(readFreeSpace('0'), GIB)).to.equal(0)
  })
})
