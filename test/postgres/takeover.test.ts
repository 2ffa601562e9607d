// Goal: where another server has the data, no id is given out that the one before can have given
// out, nor one that the same copy was restored to before; and what may be lost is told, but not
// where nothing can be. Method: a real database, and processes that say what they have seen of it.

import { expect } from 'chai'
import { connectAlone, TakeoverUndecided } from '../../src/postgres/server/connection.ts'
import { noticeTakeover } from '../../src/postgres/server/notice-takeover.ts'
import type { Witness } from '../../src/postgres/server/notice-takeover.ts'
import { lookAtServer } from '../../src/postgres/server/recorded-server.ts'
import { declareRestored } from '../../src/postgres/server/renewal.ts'
import { SeenStreams } from '../../src/postgres/server/seen-streams.ts'
import { ask, newWitness } from '../support/lanes.ts'
import { FakeClock } from '../support/clock.ts'
import { newDatabase, newMigratedDatabase, usePostgres } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'

const FOUR_BYTES = ['users_id_seq', 'sensor_ids']
const SEQUENCES = [...FOUR_BYTES, 'access_tokens_id_seq', 'refused_id_seq']

/** What a process does on a new connection; `undecided`: it is to try again. */
async function connect(url: string, witness: Witness) {
  const client = await connectAlone(url, false)
  try {
    return await noticeTakeover(client, witness)
  } catch (error) {
    if (error instanceof TakeoverUndecided) return 'undecided'
    throw error
  } finally {
    await client.end()
  }
}

/** What a process does once a second. */
async function look(url: string, { seen }: Witness): Promise<void> {
  const client = await connectAlone(url, false)
  const { epoch } = seen
  seen.noteLook((await lookAtServer(client, epoch)).recorded, epoch)
  await client.end()
}

const becomeOther = (url: string) =>
  ask(url, "UPDATE data_identity SET timeline = concat('of another server ', timeline)")

interface Holding {
  readonly owner: string
  readonly head?: number
  readonly minutesAgo?: number
}

/** Somebody has a stream, and has committed to it. */
const hold = (url: string, stream: number, { owner, head = 0, minutesAgo = 0 }: Holding) =>
  ask(
    url,
    `INSERT INTO streams (shard, stream_id, owner, head, lease_until)
     VALUES (0, $1, $2, $3, clock_timestamp() - $4 * interval '1 minute')
     ON CONFLICT (shard, stream_id) DO UPDATE SET head = excluded.head`,
    stream,
    owner,
    head,
    minutesAgo,
  )

describe('ids on another server', () => {
  const postgres = usePostgres()
  let database: TestDatabase
  beforeEach(async () => {
    database = await newMigratedDatabase(postgres())
    await notice()
  })
  afterEach(() => database.remove())

  const notice = () => connect(database.url, newWitness())
  const becomeAnother = () => becomeOther(database.url)
  const nextIds = async (url = database.url) => {
    const next = SEQUENCES.map((name) => ask<{ id: string }>(url, 'SELECT nextval($1) AS id', name))
    return (await Promise.all(next)).map(([row]) => Number(row?.id))
  }

  it('are others than those of another restore of the same copy', async () => {
    const copy = await newDatabase(postgres(), database)
    await declareRestored(copy.url)
    await becomeAnother()
    expect(await notice()).to.equal('restore')
    const [one, other] = [await nextIds(), await nextIds(copy.url)]
    for (const [at, id] of one.entries()) expect(id, SEQUENCES[at]).not.to.equal(other[at])
    expect(one[0]).not.to.equal(one[1])
    for (const id of one.slice(0, 2)) expect(id).to.be.within(2 ** 20, 2 ** 20 + 2 ** 24)
    for (const id of one.slice(2)) expect(id).to.be.within(2 ** 32, 2 ** 33)
    await copy.remove()
  })

  it('are just as far after a promotion that lost nothing, and after another', async () => {
    await ask(database.url, 'UPDATE data_identity SET may_lack = false')
    const one = newWitness({ durability: 'replicated' })
    await hold(database.url, 1, { owner: one.owner })
    await connect(database.url, one)
    for (const promotions of [1, 2]) {
      await look(database.url, one)
      await becomeAnother()
      expect(await connect(database.url, one)).to.equal('promotion')
      const ids = await nextIds()
      for (const id of ids.slice(0, 2)) expect(id).to.equal(promotions * (2 ** 20 + 1))
    }
  })
})

describe('another server', () => {
  const postgres = usePostgres()
  let database: TestDatabase
  const clock = new FakeClock()
  let one: Witness
  let other: Witness
  beforeEach(async () => {
    database = await newMigratedDatabase(postgres())
    clock.set('2026-11-20T10:00:00.000Z')
    await hold(database.url, 1, { owner: 'one', head: 3 })
    await hold(database.url, 2, { owner: 'other', head: 4 })
    one = await start('one')
    other = await start('other')
  })
  afterEach(() => database.remove())

  const start = async (owner: string) => {
    const process = newWitness({ owner, durability: 'replicated', seen: new SeenStreams(clock) })
    await connect(database.url, process)
    await look(database.url, process)
    return process
  }
  const takeOver = () => becomeOther(database.url)
  const comes = (process: Witness) => connect(database.url, process)
  const storeOf = async () => {
    const text = 'SELECT id, restored_to_ms AS "restoredToMs" FROM data_identity'
    return (await ask<{ id: string; restoredToMs: string | null }>(database.url, text))[0]
  }
  const waitNoLonger = () =>
    ask(database.url, 'UPDATE takeovers SET undecided_until = clock_timestamp()')
  const commitAt = (stream: number, atMs: number) =>
    ask(
      database.url,
      `INSERT INTO journal (shard, stream_id, seq, group_id, committed_at_ms, measurements)
       VALUES (0, $1, 1, gen_random_uuid(), $2, 1)`,
      stream,
      atMs,
    )

  it('was promoted when the owner of each stream finds all that it has acknowledged', async () => {
    const before = await storeOf()
    one.seen.noteRow(1, 3)
    other.seen.noteRow(2, 4)
    await takeOver()
    expect(await comes(one)).to.equal('undecided')
    expect(await comes(one)).to.equal('undecided')
    expect(await comes(other)).to.equal('promotion')
    expect(await comes(one)).to.equal(undefined)
    expect(await storeOf()).to.deep.equal(before)
  })

  it('was restored when an owner finds less, up to its newest row', async () => {
    const before = await storeOf()
    await commitAt(1, 1_700_000_000_000)
    other.seen.noteRow(2, 5)
    await ask(database.url, "INSERT INTO sign_in_links VALUES ('a', NULL, 's', 0, NULL, NULL)")
    await takeOver()
    expect(await comes(one)).to.equal('undecided')
    expect(await comes(other)).to.equal('restore')
    const after = await storeOf()
    expect(after?.id).not.to.equal(before?.id)
    expect(Number(after?.restoredToMs)).to.equal(1_700_000_000_000)
    expect(await ask(database.url, 'SELECT 1 FROM sign_in_links')).to.deep.equal([])
    expect(await comes(one)).to.equal(undefined)
  })

  it('was restored when somebody has seen more of the stream of another', async () => {
    await ask(database.url, 'UPDATE streams SET fence = fence - 1 WHERE stream_id = 2')
    await takeOver()
    expect(await comes(one)).to.equal('restore')
  })

  it('was restored when an owner does not come in time', async () => {
    const before = await storeOf()
    await takeOver()
    expect(await comes(one)).to.equal('undecided')
    await waitNoLonger()
    expect(await comes(one)).to.equal('restore')
    const after = await storeOf()
    expect(after?.id).not.to.equal(before?.id)
    // The next time nobody waits for it.
    await look(database.url, one)
    await takeOver()
    expect(await comes(one)).to.equal('promotion')
    expect(await storeOf()).to.deep.equal(after)
  })

  it('was restored when nobody had a stream, or whoever had has only started', async () => {
    await takeOver()
    const late = newWitness({ owner: 'late', durability: 'replicated' })
    expect(await comes(late)).to.equal('undecided')
    await waitNoLonger()
    expect(await comes(late)).to.equal('restore')
    await ask(database.url, 'UPDATE streams SET lease_until = NULL')
    await takeOver()
    expect(await comes(late)).to.equal('undecided')
    await waitNoLonger()
    expect(await comes(late)).to.equal('restore')
  })

  it('is not vouched for by who has not looked for a minute, or slept', async () => {
    await ask(database.url, 'UPDATE streams SET lease_until = NULL WHERE stream_id = 2')
    clock.advanceMs(60_001)
    await takeOver()
    expect(await comes(one)).to.equal('undecided')
    await waitNoLonger()
    expect(await comes(one)).to.equal('restore')
  })

  it('does not let a process that was asked before go back to what it was', async () => {
    const client = await connectAlone(database.url, false)
    const { epoch } = one.seen
    const before = (await lookAtServer(client, epoch)).recorded
    await client.end()
    await takeOver()
    await comes(one)
    await comes(other)
    await comes(one)
    const now = one.seen.epoch
    one.seen.noteLook(before, epoch)
    expect(one.seen.epoch).to.equal(now)
    expect(now).not.to.equal(epoch)
  })

  it('tells of the earlier loss when it is restored twice within a week', async () => {
    const [firstMs, dayMs] = [1_700_000_000_000, 86_400_000]
    for (const [ms, expected] of [
      [firstMs, firstMs],
      [firstMs + 6 * dayMs, firstMs],
      [firstMs + 14 * dayMs, firstMs + 14 * dayMs],
    ] as const) {
      await ask(database.url, 'DELETE FROM journal')
      await commitAt(1, ms)
      await ask(database.url, 'UPDATE data_identity SET may_lack = true')
      await takeOver()
      expect(await comes(one)).to.equal('restore')
      expect(Number((await storeOf())?.restoredToMs)).to.equal(expected)
    }
  })

  it('needs no owner for a stream that was left, or not used for long', async () => {
    await ask(database.url, 'UPDATE streams SET lease_until = NULL WHERE stream_id = 2')
    await hold(database.url, 3, { owner: 'gone', minutesAgo: 61 })
    await takeOver()
    expect(await comes(one)).to.equal('promotion')
  })

  it('was restored after anything was committed without a standby', async () => {
    await ask(database.url, 'UPDATE data_identity SET may_lack = true')
    await takeOver()
    expect(await comes(one)).to.equal('restore')
  })

  it('turns out to be a restore when a process comes late that has seen more', async () => {
    await commitAt(1, 1_700_000_000_000)
    const [before, late] = [await storeOf(), await start('late')]
    late.seen.noteRow(9, 1)
    await takeOver()
    await comes(one)
    expect(await comes(other)).to.equal('promotion')
    expect((await storeOf())?.id).to.equal(before?.id)
    await ask(
      database.url,
      'UPDATE journal SET committed_at_ms = committed_at_ms + 1 WHERE seq > 1',
    )
    expect(await comes(late)).to.equal('restore')
    expect(await comes(late)).to.equal(undefined)
    const { id, restoredToMs } = (await storeOf()) ?? {}
    expect(id).not.to.equal(before?.id)
    expect(Number(restoredToMs)).to.equal(1_700_000_000_000)
    // Everybody is told by now.
    expect(await comes(one)).to.equal(undefined)
    expect((await storeOf())?.id).to.equal(id)
  })

  it('is noticed by less than was seen, where it does not tell that it is another', async () => {
    one.seen.noteRow(1, 4)
    expect(await comes(one)).to.equal('restore')
    expect(Number((await storeOf())?.restoredToMs)).to.equal(0)
  })

  it('is not noticed by what is acknowledged while it is asked', async () => {
    const client = await connectAlone(database.url, false)
    const query = client.query.bind(client) as (...question: unknown[]) => Promise<unknown>
    let head = 3
    const answer = async (...question: unknown[]) => {
      const answered = await query(...question)
      await ask(database.url, 'UPDATE streams SET head = head + 1 WHERE stream_id = 1')
      one.seen.noteRow(1, ++head)
      return answered
    }
    Object.assign(client, { query: answer })
    expect(await noticeTakeover(client, one)).to.equal(undefined)
    await client.end()
  })

  it('is noticed when its data know nothing of those that a process had', async () => {
    const older = await newDatabase(postgres(), database)
    await takeOver()
    await comes(one)
    expect(await comes(other)).to.equal('promotion')
    await comes(one)
    expect(await connect(older.url, one)).to.equal('restore')
    await older.remove()
  })

  it('is begun anew when yet another one takes over meanwhile', async () => {
    await takeOver()
    expect(await comes(one)).to.equal('undecided')
    await takeOver()
    expect(await comes(other)).to.equal('undecided')
    expect(await comes(one)).to.equal('promotion')
  })

  it('is not noticed twice after it was declared a restore while processes ran', async () => {
    await declareRestored(database.url)
    const declared = await storeOf()
    expect(await comes(one)).to.equal(undefined)
    expect(await storeOf()).to.deep.equal(declared)
  })
})
