// Goal: whatever process forwards, every row reaches the store, and none is taken for forwarded
// that is not. Method: two processes on one database; leases end by a statement.

import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { migrate } from '../../../src/postgres/migrate.ts'
import {
  accept,
  measurement,
  newUser,
  NOW_MS,
  PERMISSIVE,
  placesOf,
  submission,
} from '../../contract/open-data.ts'
import type { OpenData } from '../../contract/open-data.ts'
import { ask } from '../../support/lanes.ts'
import { openProcess } from '../../support/postgres-process.ts'
import { newDatabase, usePostgres } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'

const ALL = 1_000
const WRITTEN = { rejected: [], durationMs: 1 }
const UPKEEP_MS_MAX = 10_000

describe('two processes that forward', function () {
  this.timeout(30_000)
  const postgres = usePostgres()
  let database: TestDatabase
  let [one, other]: OpenData[] = []
  let userId: number
  beforeEach(async () => {
    database = await newDatabase(postgres())
    await migrate(database.url)
    one = openProcess(database.url, PERMISSIVE)
    other = openProcess(database.url, PERMISSIVE)
    userId = await newUser(one)
  })
  afterEach(async () => {
    await Promise.all([one?.close(), other?.close()])
    await database.remove()
  })

  const both = (): [OpenData, OpenData] => {
    if (one === undefined || other === undefined) throw new Error('opened in a hook')
    return [one, other]
  }
  const send = (data: OpenData, afterMs = 0) =>
    accept(data, submission(userId, measurement({ measuredAtMs: NOW_MS + afterMs })))
  const claim = async (data: OpenData) => {
    const batch = await data.queue.claim(ALL)
    if (batch === undefined) throw new Error('there is nothing to claim')
    return batch
  }
  const endLeases = () =>
    ask(database.url, 'UPDATE stream_forwarded SET lease_until = clock_timestamp()')
  const forwardedSeqs = async () => {
    const text = 'SELECT seq FROM stream_forwarded WHERE stream_id > 0 ORDER BY stream_id'
    return (await ask<{ seq: string }>(database.url, text)).map(({ seq }) => Number(seq))
  }

  it('take a stream one at a time', async () => {
    const [first, second] = both()
    await send(first)
    await claim(first)
    expect(await second.queue.claim(ALL)).to.equal(undefined)
  })

  it('take over what the other has not settled', async () => {
    const [first, second] = both()
    await send(first)
    const lost = await claim(first)
    await endLeases()
    const again = await claim(second)
    expect(placesOf(again.measurements)).to.deep.equal(placesOf(lost.measurements))
    await first.queue.settle(lost, WRITTEN)
    expect(await forwardedSeqs()).to.deep.equal([0])
    await second.queue.settle(again, WRITTEN)
    expect(await forwardedSeqs()).to.deep.equal([1])
  })

  it('delete once more what a lost lease may bring back', async () => {
    const [first, second] = both()
    const { sensorId } = (await send(first)).at(0)
    const late = await claim(first)
    await endLeases()
    await first.controlWriter.deleteSensor(userId, sensorId)
    for (let batch = await second.queue.claim(ALL); batch; batch = await second.queue.claim(ALL)) {
      await second.queue.settle(batch, WRITTEN)
    }
    const due = () => second.jobs.due(Date.now() + 1_000)
    const [job] = await due()
    if (job === undefined) throw new Error('it is not due')
    await second.jobs.notePass(job, undefined)
    expect(await due()).to.deep.equal([])
    await first.queue.settle(late, WRITTEN)
    expect((await due()).map((deletion) => deletion.sensorId)).to.deep.equal([sensorId])
  })

  it('let readers of both wait for it', async () => {
    const [first, second] = both()
    const { sensorId } = (await send(first)).at(0)
    await send(second, 5)
    const sensor = await second.control.findSensor(userId, sensorId)
    if (sensor === undefined) throw new Error('it is not there')
    const waiting = second.barrier.waitUntilReadable(sensor.dataVersion, 5_000)
    const range = { startMs: NOW_MS, stopMs: NOW_MS + 1 }
    for (let rows = 0; rows < 2; rows++) {
      expect(await second.barrier.hasUnreadable(sensor, range)).to.equal(rows === 0)
      await first.queue.settle(await claim(first), WRITTEN)
    }
    expect(await waiting).to.equal(true)
  })

  it('prune what is forwarded when nobody can look for it any more', async () => {
    const [first] = both()
    const countRows = async () =>
      (await ask<{ n: number }>(database.url, 'SELECT count(*)::int AS n FROM journal'))[0]?.n
    await send(first)
    await send(first, 1)
    await ask(database.url, 'UPDATE journal SET committed_at_ms = 0 WHERE seq = 1')
    await first.queue.settle(await claim(first), WRITTEN)
    const deadlineMs = performance.now() + UPKEEP_MS_MAX
    while ((await countRows()) === 2 && performance.now() < deadlineMs) await pause(100)
    expect(await countRows()).to.equal(1)
  })
})
