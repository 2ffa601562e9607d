// Goal: no user and no slow line keeps others from uploading. Method: a clock that the test moves.

import { expect } from 'chai'
import type { ServiceError } from '../../../src/domain/errors.ts'
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
    upload.beginReceiving(() => cut.push(upload))
    return upload
  }
  /** What becomes of bytes of an upload, as it is when the promise has had its turn. */
  const take = (upload: Upload, bytes: number) => {
    const outcome = { is: 'waiting' }
    const settle = (is: string) => {
      outcome.is = is
    }
    try {
      const turn = upload.take(bytes)
      if (turn === undefined) settle('taken')
      else
        turn.then(
          () => settle('taken'),
          (error: ServiceError) => settle(error.code),
        )
    } catch (error) {
      settle((error as ServiceError).code)
    }
    return outcome
  }
  /** One of which a byte has arrived. */
  const begin = (userId: number): Upload => {
    const upload = open(userId)
    take(upload, 1)
    return upload
  }
  const settled = () => new Promise((resolve) => setImmediate(resolve))

  it('lets the oldest upload of a user go on, and others as far as their part goes', async () => {
    const [oldest, second, third] = [begin(1), begin(1), begin(1)]
    expect(take(oldest, 4 * MIB).is).to.equal('taken')
    expect(take(second, 3 * MIB - 2).is).to.equal('taken')
    const [more, other] = [take(second, 1), take(third, 1)]
    expect(take(oldest, 4 * MIB).is).to.equal('taken')
    expect(take(open(2), 4 * MIB).is).to.equal('taken')
    await settled()
    expect([more.is, other.is]).to.deep.equal(['waiting', 'waiting'])
    oldest.close()
    await settled()
    expect([more.is, other.is]).to.deep.equal(['taken', 'taken'])
  })

  it('counts a long answer in place of its body, for its user, until it is taken', async () => {
    const answered = begin(1)
    answered.keepAnswer(2 * MIB)
    expect(budget.bytes).to.equal(0)
    expect(take(begin(1), 4 * MIB).is, 'the oldest that is not answered').to.equal('taken')
    const next = take(begin(1), MIB)
    await settled()
    expect(next.is).to.equal('waiting')
    answered.close()
    await settled()
    expect(next.is).to.equal('taken')
  })

  it('lets all uploads of a user wait while answers fill their part, and nobody else', async () => {
    const answers = [begin(1), begin(1)]
    for (const answer of answers) answer.keepAnswer(2 * MIB)
    const oldest = open(1)
    const [first, other] = [take(oldest, 1), take(open(2), 4 * MIB)]
    clock.advanceMs(60_000)
    await settled()
    expect([first.is, other.is]).to.deep.equal(['waiting', 'taken'])
    expect(cut, 'it does not wait for its client').to.not.include(oldest)
    answers[0]?.close()
    await settled()
    expect(first.is).to.equal('taken')
  })

  it('refuses nobody for answers that three others do not take', () => {
    // Each upload is what a batch of 16 KB counts, which may be answered with 360 KB.
    for (const userId of [1, 2, 3]) {
      const batches = Array.from({ length: 95 }, () => budget.open(userId, 16_384))
      uploads.push(...batches)
      for (const batch of batches) take(batch, 16_000)
      for (const batch of batches) batch.keepAnswer(360_000)
    }
    expect(take(open(4), 60).is).to.equal('taken')
  })

  it('remembers a user whose answers are not taken, whoever else comes', () => {
    begin(1).keepAnswer(4 * MIB)
    for (let userId = 2; userId < 3_000; userId++) begin(userId).close()
    expect(take(open(1), 1).is).to.equal('waiting')
  })

  it('counts a batch as more than it is where it is short', () => {
    const upload = budget.open(1, 16 * 1_024)
    uploads.push(upload)
    const counted = [100, 16_000, 1_000].map((bytes) => {
      expect(upload.take(bytes)).to.equal(undefined)
      return budget.bytes
    })
    expect(counted).to.deep.equal([16_384, 16_384, 17_100])
  })

  it('leaves half of that part to those that have begun', async () => {
    const [, second] = [begin(1), begin(1)]
    expect(take(second, 1.5 * MIB).is).to.equal('taken')
    const late = take(open(1), 1)
    expect(take(second, 1.5 * MIB - 1).is).to.equal('taken')
    second.close()
    await settled()
    expect(late.is).to.equal('taken')
  })

  it('lets the next one go on when the oldest ends without a byte', async () => {
    const [oldest, second, third] = [open(1), begin(1), begin(1)]
    take(second, 2 * MIB)
    take(third, MIB - 2)
    const more = [take(second, 2 * MIB), take(third, MIB)]
    oldest.close()
    await settled()
    expect(more.map(({ is }) => is)).to.deep.equal(['taken', 'taken'])
  })

  it('lets them go on in the order in which they came, the oldest first', async () => {
    const oldest = open(1)
    const others = [begin(1), begin(1), begin(1), begin(1)]
    take(oldest, 1)
    const first = others.map((upload) => take(upload, 2 * MIB))
    await settled()
    expect(first.map(({ is }) => is)).to.deep.equal(['taken', 'waiting', 'waiting', 'waiting'])
    others[0]?.close()
    await settled()
    expect(first.map(({ is }) => is)).to.deep.equal(['taken', 'taken', 'waiting', 'waiting'])
    others[2]?.close()
    oldest.close()
    await settled()
    expect(first.map(({ is }) => is)).to.deep.equal(['taken', 'taken', 'waiting', 'taken'])
  })

  it('goes on when something is returned that was only needed for a while', async () => {
    const [oldest, packed] = [open(1), open(1)]
    take(oldest, 1)
    take(packed, 3 * MIB)
    const unpacked = take(packed, MIB)
    packed.give(MIB)
    await settled()
    expect(unpacked.is).to.equal('taken')
    packed.close()
    packed.give(MIB)
    packed.close()
    expect(budget.bytes).to.equal(1)
  })

  it('refuses what does not fit, at once or in its turn', async () => {
    for (let userId = 1; userId <= 14; userId++) take(open(userId), 4 * MIB)
    const [oldest, late] = [open(15), begin(15)]
    take(oldest, MIB - 1)
    take(late, 2 * MIB)
    const waiting = take(late, 4 * MIB)
    expect(take(open(16), 5 * MIB).is).to.equal('taken')
    expect(take(open(17), 1).is).to.equal('overloaded')
    oldest.close()
    await settled()
    expect(waiting.is).to.equal('overloaded')
  })

  it('cuts off an upload below 512 bytes a second, and none at twice that', async () => {
    const [slow, gprs] = [open(1), open(2)]
    take(slow, 500 * 20)
    take(gprs, 1_000 * 20)
    clock.advanceMs(20_000)
    expect(cut).to.deep.equal([slow])
    take(gprs, 1_000 * 20)
    clock.advanceMs(20_000)
    expect(cut).to.deep.equal([slow])
  })

  it('cuts off the slowest, not what has just begun, while more than half is taken', async () => {
    for (const [index, mebibytes] of [8, 8, 8, 7].entries()) take(open(index), mebibytes * MIB)
    clock.advanceMs(6_000)
    expect(cut).to.deep.equal([])
    take(open(5), 2 * MIB)
    clock.advanceMs(1_000)
    expect(cut).to.deep.equal([uploads[3]])
  })

  it('cuts off a slow oldest upload that others of its user wait for and none passes', async () => {
    const [slow, fast] = [open(1), open(2)]
    const stuck = [1, 2].map((userId) => {
      const upload = begin(userId)
      take(upload, 3 * MIB - 1)
      return take(upload, MIB)
    })
    for (let seconds = 0; seconds < 4; seconds++) {
      take(slow, 10_000)
      take(fast, 20_000)
      clock.advanceMs(1_000)
    }
    expect(cut).to.deep.equal([])
    take(fast, 20_000)
    clock.advanceMs(1_000)
    expect(cut).to.deep.equal([slow])
    slow.close()
    take(fast, 200_000)
    clock.advanceMs(9_000)
    await settled()
    expect(stuck.map(({ is }) => is)).to.deep.equal(['taken', 'waiting'])
    expect(cut).to.deep.equal([slow])
  })

  it('does not mind how slowly something came that has arrived', async () => {
    const upload = open(1)
    upload.noteReceived()
    clock.advanceMs(60_000)
    expect(cut).to.deep.equal([])
  })

  it('does not take an upload for slow that waits for others of its user', async () => {
    const [oldest, waiting] = [open(1), open(1)]
    take(oldest, MIB)
    oldest.noteReceived()
    expect(take(waiting, 4 * MIB).is).to.equal('waiting')
    clock.advanceMs(60_000)
    expect(cut).to.deep.equal([])
    oldest.close()
    clock.advanceMs(19_000)
    expect(cut).to.deep.equal([])
  })
})
