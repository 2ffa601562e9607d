// Goal: what one user sends waits for little of what another has sent. Method: groups are committed
// when the test says so, over the groups of the SQLite journal.

import { expect } from 'chai'
import { DamageList } from '../../src/ingest/damage-list.ts'
import type { Receipt, Submission } from '../../src/domain/measurement.ts'
import { groupShareMax, userInFlightMax } from '../../src/domain/limits.ts'
import { Submissions } from '../../src/ingest/submissions.ts'
import type { SubmissionCommitter } from '../../src/ports/submissions.ts'
import { GroupBuilder } from '../../src/sqlite/commit/submission-committer.ts'
import { allocateGroup } from '../../src/sqlite/commit/group-frame.ts'
import { PrometheusMetrics } from '../../src/metrics/metrics.ts'
import { BELIEVED, FakeClock } from '../support/clock.ts'

const BATCH = 500
const PER_SHARE = groupShareMax.measurements / BATCH

const RECEIPT: Receipt = {
  count: 1,
  counts: { created: 1, duplicate: 0, conflict: 0 },
  at: () => {
    throw new Error('nobody asks')
  },
}

/** Users of the submissions of each group, and a way to end the commit of the oldest. */
class HeldCommitter implements SubmissionCommitter {
  readonly groups: number[][] = []
  readonly #ends: (() => void)[] = []

  beginGroup(): GroupBuilder {
    return new GroupBuilder(allocateGroup())
  }

  async commit(group: GroupBuilder): Promise<readonly Receipt[]> {
    const { submissionCount } = group.finish()
    this.groups.push([...group.columns.userId.subarray(0, submissionCount)])
    await new Promise<void>((resolve) => this.#ends.push(resolve))
    return Array.from({ length: submissionCount }, () => RECEIPT)
  }

  async endOne(): Promise<void> {
    this.#ends.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
}

describe('Submissions', () => {
  const committer = new HeldCommitter()
  const submissions = openSubmissions(committer)
  const sent: Promise<Receipt>[] = []
  const send = (userId: number, size = BATCH) => sent.push(submissions.submit(of(userId, size)))

  it('puts what another user sends into the next group, whoever has much waiting', async () => {
    for (let batch = 0; batch < 64; batch++) send(1)
    const onTheirWay = committer.groups.length
    expect(onTheirWay).to.be.at.most(3)
    send(2, 1)
    await committer.endOne()
    expect(committer.groups[onTheirWay]).to.include(2)
  })

  it('fills groups from users in turn, with a share of each at most', async () => {
    for (const userId of [3, 4, 5]) for (let batch = 0; batch < 12; batch++) send(userId)
    const before = committer.groups.length
    while (committer.groups.flat().length < sent.length) await committer.endOne()
    const inTurn = committer.groups.slice(before).find((users) => users.includes(3)) ?? []
    for (const userId of [1, 3, 4, 5]) {
      expect(inTurn.filter((user) => user === userId)).to.have.length.within(1, PER_SHARE)
    }
    await endAll()
  })

  it('refuses what a user sends beyond a share of all that waits, and nobody else', async () => {
    const batches = userInFlightMax.measurements / BATCH
    for (let batch = 0; batch < batches; batch++) send(1)
    const refused = await submissions.submit(of(1, BATCH)).catch((error: unknown) => error)
    expect(refused).to.have.property('code', 'overloaded')
    send(2)
    await endAll()
    expect(submissions.obstacle(1)).to.equal(undefined)
  })

  async function endAll(): Promise<void> {
    const all = Promise.all(sent.splice(0))
    let isOver = false
    void all.then(() => (isOver = true))
    while (!isOver) await committer.endOne()
    committer.groups.length = 0
  }
})

function of(userId: number, size: number): Submission {
  const measurement = { eventId: null, serialNumber: 's', tempCelsius: 1, measuredAtMs: 1 }
  return { userId, receivedAtMs: 1, measurements: Array.from({ length: size }, () => measurement) }
}

function openSubmissions(committer: SubmissionCommitter): Submissions {
  const progress = {
    backlog: () => ({ entries: 0, bytes: 0, oldestAgeMs: 0 }),
    backlogBytes: 0,
    unreadable: 0,
    isAwaited: false,
    onReadable: () => undefined,
  }
  const damaged = new DamageList()
  const storage = { isLow: false, describe: () => ({ detail: '', hint: '' }) }
  const clock = new FakeClock()
  const metrics = new PrometheusMetrics()
  return new Submissions(
    { committer, progress, clock, clockWatch: BELIEVED, metrics, storage, damaged },
    { journalBytesMax: 1, isStoreEmbedded: true },
  )
}
