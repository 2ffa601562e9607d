// Goal: no user and no slow line keeps others from uploading. Method: a clock that the test moves.

import { expect } from 'chai'
import { ServiceError } from '../../../src/domain/errors.ts'
import { UploadBudget } from '../../../src/http/body/upload-budget.ts'
import type { Upload } from '../../../src/http/body/upload-budget.ts'
import { TimerClock } from '../../support/timers.ts'

const MIB = 2 ** 20

describe('UploadBudget', () => {
  let clock: TimerClock
  let budget: UploadBudget
  let uploads: Upload[]
  let cut: Upload[]

  beforeEach(() => {
    clock = new TimerClock()
    uploads = []
    cut = []
    budget = new UploadBudget(64 * MIB, clock)
  })

  afterEach(() => {
    clock.stop()
    for (const upload of uploads) upload.close()
    expect(budget.bytes).to.equal(0)
  })

  const open = (userId: number): Upload => {
    const upload = budget.open(userId)
    uploads.push(upload)
    upload.onTooSlow(() => cut.push(upload))
    return upload
  }
  const codeOf = (run: () => void) => {
    try {
      run()
    } catch (error) {
      if (error instanceof ServiceError) return error.code
    }
    return 'taken'
  }

  it('gives a user an eighth, and others what is left', () => {
    const first = open(1)
    expect(codeOf(() => first.arrive(8 * MIB))).to.equal('taken')
    expect(codeOf(() => open(1).arrive(1))).to.equal('overloaded')
    for (let userId = 2; userId <= 8; userId++) {
      expect(codeOf(() => open(userId).arrive(8 * MIB))).to.equal('taken')
    }
    expect(codeOf(() => open(9).arrive(1))).to.equal('overloaded')
    first.close()
    expect(codeOf(() => open(1).arrive(1))).to.equal('taken')
  })

  it('cuts off an upload below 512 bytes a second, and none at twice that', async () => {
    const [slow, gprs] = [open(1), open(2)]
    slow.arrive(500 * 20)
    gprs.arrive(1_000 * 20)
    clock.advanceMs(20_000)
    expect(cut).to.deep.equal([slow])
    gprs.arrive(1_000 * 20)
    clock.advanceMs(20_000)
    expect(cut).to.deep.equal([slow])
  })

  it('cuts off the slowest, not what has just begun, while more than half is taken', async () => {
    for (const [index, mebibytes] of [8, 8, 8, 7].entries()) open(index).arrive(mebibytes * MIB)
    clock.advanceMs(6_000)
    expect(cut).to.deep.equal([])
    open(5).arrive(2 * MIB)
    clock.advanceMs(1_000)
    expect(cut).to.deep.equal([uploads[3]])
  })

  it('does not mind how slowly something came that has arrived', async () => {
    const upload = open(1)
    upload.noteReceived()
    clock.advanceMs(60_000)
    expect(cut).to.deep.equal([])
  })
})
