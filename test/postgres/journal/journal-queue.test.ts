// Goal: whatever process forwards, every row reaches the store, and none is taken for forwarded
// that is not. Method: two processes on one database; leases end by a statement.

import { expect } from 'chai'
import { MemoryLeases } from '../../../src/memory/leases.ts'
import { connectAlone } from '../../../src/postgres/server/connection.ts'
import { pruneJournal } from '../../../src/postgres/journal/journal-pruning.ts'
import { PRUNE } from '../../../src/postgres/journal/journal-statements.ts'
import type { ClaimedBatch } from '../../../src/ports/journal-queue.ts'
import { Database } from '../../../src/postgres/server/database.ts'
import { KnownData } from '../../../src/postgres/server/recorded-server.ts'
import { noticeRestore } from '../../../src/postgres/server/restore.ts'
import { systemClock } from '../../../src/system/clock.ts'
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
import { countLockWaits } from '../../support/lock-waits.ts'
import { listAll } from '../../support/measurements.ts'
import { keepJournal, openProcess } from '../../support/postgres-process.ts'
import { newMigratedDatabase, usePostgres } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'

const ALL = 1_000
const WRITTEN = { setAside: [], durationMs: 1 }
/** The first stream has no lane. */
const OF_LANE = 'stream_id > 0'

describe('two processes that forward', () => {
  const postgres = usePostgres()
  let database: TestDatabase
  let [one, other]: OpenData[] = []
  let userId: number
  beforeEach(async () => {
    database = await newMigratedDatabase(postgres())
    // Tests prune themselves.
    await keepJournal(database.url)
    one = await openProcess(database.url, PERMISSIVE)
    other = await openProcess(database.url, PERMISSIVE)
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
  const sensorOf = async ({ control }: OpenData, id: number) => {
    const sensor = await control.findSensor(userId, id)
    if (sensor === undefined) throw new Error('it is not there')
    return sensor
  }
  const settleAll = async ({ queue }: OpenData, claimed?: ClaimedBatch) => {
    let batch = claimed ?? (await queue.claim(ALL))
    for (; batch; batch = await queue.claim(ALL)) await queue.settle(batch, WRITTEN)
  }
  const lockWaits = () => countLockWaits(database.url)
  const endLeases = () => ask(database.url, 'UPDATE stream_forwarded SET lease_until = now()')
  /** Ends the leases of the other, again if that has renewed them before they are taken. */
  const takeOver = async <Taken>(take: () => Promise<Taken | undefined>): Promise<Taken> => {
    let taken: Taken | undefined
    await until('it is taken over', async () => {
      await endLeases()
      taken = await take()
      return taken !== undefined
    })
    if (taken === undefined) throw new Error('it is waited for')
    return taken
  }
  const forwardedSeqs = async () => {
    const text = `SELECT seq FROM stream_forwarded WHERE ${OF_LANE} ORDER BY stream_id`
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
    const again = await takeOver(() => second.queue.claim(ALL))
    expect(placesOf(again.measurements)).to.deep.equal(placesOf(lost.measurements))
    await first.queue.settle(lost, WRITTEN)
    expect(await forwardedSeqs()).to.deep.equal([0])
    await second.queue.settle(again, WRITTEN)
    expect(await forwardedSeqs()).to.deep.equal([1])
  })

  it('begin anew when another server has the data, whatever they had claimed', async () => {
    const [first, second] = both()
    const { sensorId } = (await send(first)).at(0)
    const batch = await claim(first)
    const before = await sensorOf(second, sensorId)
    await ask(database.url, "UPDATE data_identity SET timeline = '0000000A'")
    const client = await connectAlone(database.url, false)
    expect(await noticeRestore(client, new KnownData())).to.equal(true)
    await client.end()
    await first.queue.noteReadable(batch)
    expect(await first.barrier.waitUntilReadable([before.dataVersion], 0)).to.equal(false)
    await first.queue.settle(batch, WRITTEN)
    expect(await forwardedSeqs()).to.deep.equal([0])
    const places: string[] = []
    for (let next = await second.queue.claim(ALL); next; next = await second.queue.claim(ALL)) {
      places.push(...placesOf(next.measurements))
    }
    expect(places).to.have.lengthOf(1)
  })

  it('know nothing of the rows that the last server had', async () => {
    const [first, second] = both()
    const { sensorId } = (await send(first)).at(0)
    await settleAll(first)
    await first.barrier.waitUntilReadable([(await sensorOf(first, sensorId)).dataVersion], 1_000)
    await ask(database.url, "UPDATE data_identity SET epoch = 'b'")
    // As a copy that lags.
    await ask(database.url, 'UPDATE stream_forwarded SET seq = 0')
    const { dataVersion } = await sensorOf(second, sensorId)
    expect(await first.barrier.waitUntilReadable([dataVersion], 0)).to.equal(false)
  })

  it('set nothing aside of a sensor that is being deleted', async () => {
    const [first, second] = both()
    const { sensorId } = (await send(first)).at(0)
    const batch = await claim(first)
    const holder = await connectAlone(database.url, false)
    await holder.query('BEGIN; LOCK TABLE sensor_deletions IN SHARE MODE')
    const deleting = second.controlWriter.deleteSensor(userId, sensorId)
    await until('the deletion waits', async () => (await lockWaits()) === 1)
    let isSettled = false
    const setAside = [{ index: 0, reason: 'never' }]
    const settling = first.queue.settle(batch, { ...WRITTEN, setAside })
    void settling.then(() => (isSettled = true))
    await until('it is settled, or waits', async () => isSettled || (await lockWaits()) === 2)
    await holder.query('COMMIT')
    await holder.end()
    await Promise.all([deleting, settling])
    expect(await first.control.countSetAside()).to.equal(0)
    expect(await forwardedSeqs()).to.deep.equal([1])
  })

  it('let readers of both wait for it', async () => {
    const [first, second] = both()
    const { sensorId } = (await send(first)).at(0)
    await send(second, 5)
    const sensor = await sensorOf(second, sensorId)
    const waiting = second.barrier.waitUntilReadable([sensor.dataVersion], 5_000)
    const range = { startMs: NOW_MS, stopMs: NOW_MS + 1 }
    for (let rows = 0; rows < 2; rows++) {
      const unreadable = await listAll(second.barrier.findUnreadable([sensor], range))
      expect(unreadable.length > 0).to.equal(rows === 0)
      await first.queue.settle(await claim(first), WRITTEN)
    }
    expect(await waiting).to.equal(true)
  })

  it('prune what is forwarded when nobody can look for it any more', async () => {
    const [first] = both()
    await send(first)
    await send(first, 1)
    await ask(database.url, 'UPDATE journal SET committed_at_ms = 0 WHERE seq = 1')
    await prune()
    expect(await seqs(), 'not forwarded').to.deep.equal([1, 2])
    await settleAll(first)
    await prune()
    expect(await seqs()).to.deep.equal([2])
  })

  it('prune without a look at each row for each, however small the table once was', async () => {
    const client = await connectAlone(database.url, false)
    const run = () => client.query({ name: 'prune', text: PRUNE, values: [0] })
    // From the sixth time on by one plan.
    for (let time = 0; time < 6; time++) await run()
    await client.query(`INSERT INTO journal
      SELECT 1, seq, gen_random_uuid(), 0, 0 FROM generate_series(1, 5000) AS seq`)
    await client.query('INSERT INTO stream_forwarded (stream_id, seq) VALUES (1, 5000)')
    await client.query('BEGIN')
    expect((await run()).rowCount).to.equal(1_000)
    const { rows } = await client.query(`
      SELECT seq_tup_read + idx_tup_fetch AS "rowsRead" FROM pg_stat_xact_user_tables
      WHERE relname = 'journal'`)
    expect(Number(rows[0].rowsRead)).to.be.lessThan(50_000)
    await client.query('ROLLBACK')
    await client.end()
  })

  async function prune(): Promise<void> {
    const pruned = new Database(database.url, 1)
    await pruneJournal({ database: pruned, leases: new MemoryLeases(systemClock).of('test') })
    await pruned.close()
  }

  async function seqs(): Promise<number[]> {
    const text = `SELECT seq FROM journal WHERE ${OF_LANE} ORDER BY seq`
    return (await ask<{ seq: string }>(database.url, text)).map(({ seq }) => Number(seq))
  }
})
