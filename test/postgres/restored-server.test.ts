// Goal: where another server has the data, or they lack something, nothing is accepted before
// everybody is told that something may be lost, and no id is given out that the server before can
// have given out, nor one that the same copy was restored to before. Method: a real database that
// is made another, and processes that know what they have written.

import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { ServiceError } from '../../src/domain/errors.ts'
import { connectAlone, OtherData } from '../../src/postgres/server/connection.ts'
import { Database } from '../../src/postgres/server/database.ts'
import { KnownData } from '../../src/postgres/server/recorded-server.ts'
import { declareRestored, noticeRestore } from '../../src/postgres/server/restore.ts'
import { BEAT, PostgresServerWatch } from '../../src/postgres/server/server-watch.ts'
import { systemClock } from '../../src/system/clock.ts'
import { addUsers, ask, newGuard, newLane, sendEvent, statusOf } from '../support/lanes.ts'
import { RecordingLog } from '../support/log.ts'
import { newDatabase, newMigratedDatabase, usePostgres } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'
import { until } from '../support/until.ts'

const FOUR_BYTES = ['users_id_seq', 'sensor_ids']
const SEQUENCES = [...FOUR_BYTES, 'access_tokens_id_seq', 'refused_id_seq']
const DAY_MS = 86_400_000
const THEN_MS = 1_700_000_000_000

interface Identity {
  readonly id: string
  readonly epoch: string
  readonly restoredToMs: number | null
}

describe('another server', () => {
  const postgres = usePostgres()
  let database: TestDatabase
  let url: string
  beforeEach(async () => {
    database = await newMigratedDatabase(postgres())
    url = database.url
    await connect()
  })
  afterEach(() => database.remove())

  /** What a process does on a new connection. @returns whether it found a restore */
  const connect = async (known = new KnownData(), at = url) => {
    const client = await connectAlone(at, false)
    try {
      return await noticeRestore(client, known)
    } finally {
      await client.end()
    }
  }
  const newProcess = async () => {
    const known = new KnownData()
    await connect(known)
    return known
  }
  const beat = async (known: KnownData, at = url) => {
    await ask(at, BEAT, known.process)
    await connect(known, at)
  }
  const setLastBeat = async (atMs: number) => {
    await ask(url, 'DELETE FROM beats')
    await ask(url, 'INSERT INTO beats VALUES (gen_random_uuid(), 1, $1)', atMs)
  }
  const set = (assignment: string) => ask(url, `UPDATE data_identity SET ${assignment}`)
  const becomeAnother = () => set("timeline = concat('of another server ', timeline)")
  const read = async (at = url): Promise<Identity> => {
    const text = 'SELECT id, epoch, restored_to_ms::float8 AS "restoredToMs" FROM data_identity'
    const [row] = await ask<Identity & { [column: string]: unknown }>(at, text)
    if (row === undefined) throw new Error('BUG: no identity')
    return row
  }
  const nextIds = async (at = url) => {
    const next = SEQUENCES.map((name) => ask<{ id: string }>(at, 'SELECT nextval($1) AS id', name))
    return (await Promise.all(next)).map(([row]) => Number(row?.id))
  }

  it('is a restore, whatever it has: of another timeline, or begun elsewhere', async () => {
    const known = await newProcess()
    for (const change of ["timeline = '0000000A'", "system_identifier = '7'"]) {
      const before = await read()
      await ask(url, "INSERT INTO sign_in_links VALUES ('a', NULL, 's', 0, NULL, NULL)")
      await setLastBeat(THEN_MS)
      await set(change)
      expect(await connect(known)).to.equal(true)
      const after = await read()
      expect(after.id).not.to.equal(before.id)
      expect(after.epoch > before.epoch).to.equal(true)
      expect(after.restoredToMs).to.equal(THEN_MS)
      expect(known).to.include({ id: after.id, restoredToMs: THEN_MS })
      expect(await ask(url, 'SELECT 1 FROM sign_in_links')).to.deep.equal([])
    }
  })

  it('is found by one process, however many come at once; the others follow', async () => {
    const all = await Promise.all(Array.from({ length: 6 }, newProcess))
    const { id } = await read()
    await becomeAnother()
    const found = await Promise.all(all.map((known) => connect(known)))
    expect(found.filter(Boolean)).to.have.lengthOf(1)
    const now = await read()
    expect(now.id).not.to.equal(id)
    for (const known of [...all, await newProcess()]) expect(known.id).to.equal(now.id)
    for (const known of all) expect(await connect(known)).to.equal(false)
    expect(await read()).to.deep.equal(now)
  })

  it('is noticed by a beat that it lacks, where it does not tell that it is another', async () => {
    const [one, other] = [await newProcess(), await newProcess()]
    await beat(one)
    const older = await ask(url, 'SELECT * FROM beats')
    await beat(one)
    await ask(url, 'UPDATE beats SET beat = $1, at_ms = $2', Number(older[0]?.['beat']), THEN_MS)
    // Who has not written since cannot know, and may go on for as long as it likes.
    for (let time = 0; time < 5; time++) await beat(other)
    await ask(url, 'DELETE FROM beats WHERE process = $1', other.process)
    expect(await connect(one)).to.equal(true)
    expect((await read()).restoredToMs).to.equal(THEN_MS)
    expect(await connect(other)).to.equal(false)
    expect(other.id).to.equal(one.id)
  })

  it('is not gone back to from the one after, as when it was the primary once', async () => {
    const known = await newProcess()
    const older = await newDatabase(postgres(), database)
    await becomeAnother()
    expect(await connect(known)).to.equal(true)
    const before = await read(older.url)
    for (let time = 0; time < 3; time++) {
      const refused = await connect(known, older.url).catch((error: unknown) => error)
      expect(refused).to.be.instanceOf(OtherData)
      expect(String(refused)).to.contain('thermolog database restored')
      expect(await connect(known)).to.equal(false)
    }
    expect(await read(older.url)).to.deep.equal(before)
    await declareRestored(older.url)
    expect(await connect(known, older.url)).to.equal(false)
    expect(known.id).to.equal((await read(older.url)).id)
    await older.remove()
  })

  it('is not used before all of it is restored', async () => {
    const known = await newProcess()
    await beat(known)
    // As pg_restore does: rows first, then numbers, then keys.
    await ask(url, 'ALTER TABLE data_identity DROP CONSTRAINT data_identity_pkey')
    await ask(url, 'DELETE FROM beats')
    const before = await read()
    for (const one of [known, new KnownData()]) {
      const refused = await connect(one).catch((error: unknown) => error)
      expect(refused).to.be.instanceOf(OtherData)
    }
    expect(await read()).to.deep.equal(before)
    await ask(url, 'ALTER TABLE data_identity ADD PRIMARY KEY (one)')
    expect(await connect(known)).to.equal(true)
  })

  it('is one restore, also when its clock is behind that of the one before', async () => {
    await set("epoch = '0fff00000000abcdef'")
    const [one, other] = [await newProcess(), await newProcess()]
    await becomeAnother()
    expect(await connect(one)).to.equal(true)
    const now = await read()
    expect(now.epoch > '0fff00000000abcdef').to.equal(true)
    expect(await connect(other)).to.equal(false)
    expect(await read()).to.deep.equal(now)
  })

  it('is not noticed by beats that are written while it is asked', async () => {
    const known = await newProcess()
    const client = await connectAlone(url, false)
    const query = client.query.bind(client) as (...question: unknown[]) => Promise<unknown>
    const answer = async (...question: unknown[]) => {
      const answered = await query(...question)
      await beat(known)
      return answered
    }
    Object.assign(client, { query: answer })
    expect(await noticeRestore(client, known)).to.equal(false)
    await client.end()
  })

  it('is not noticed twice after it was declared a restore while processes ran', async () => {
    const known = await newProcess()
    await declareRestored(url)
    const declared = await read()
    expect(await connect(known)).to.equal(false)
    expect(known.id).to.equal(declared.id)
    expect(await read()).to.deep.equal(declared)
  })

  it('tells of the earlier loss when it is restored twice within a week', async () => {
    for (const [ms, expected] of [
      [THEN_MS, THEN_MS],
      [THEN_MS + 6 * DAY_MS, THEN_MS],
      [THEN_MS + 14 * DAY_MS, THEN_MS + 14 * DAY_MS],
    ] as const) {
      await setLastBeat(ms)
      await becomeAnother()
      expect(await connect()).to.equal(true)
      expect((await read()).restoredToMs).to.equal(expected)
    }
  })

  it('gives other ids than another restore of the same copy', async () => {
    const copy = await newDatabase(postgres(), database)
    await declareRestored(copy.url)
    await becomeAnother()
    expect(await connect()).to.equal(true)
    const [one, other] = [await nextIds(), await nextIds(copy.url)]
    for (const [at, id] of one.entries()) expect(id, SEQUENCES[at]).not.to.equal(other[at])
    expect(one[0]).not.to.equal(one[1])
    for (const id of one.slice(0, 2)) expect(id).to.be.within(2 ** 20, 2 ** 20 + 2 ** 24)
    for (const id of one.slice(2)) expect(id).to.be.within(2 ** 32, 2 ** 33)
    // Else a forwarder of one could go on in the other.
    const fences = [url, copy.url].map((at) => ask(at, 'SELECT fence FROM stream_forwarded'))
    const [ofOne, ofOther] = await Promise.all(fences)
    expect(ofOne).not.to.deep.equal(ofOther)
    await copy.remove()
  })

  it('accepts nothing on a connection that it was not compared on', async () => {
    await addUsers(url, [1])
    const known = new KnownData()
    const lane = newLane(url, 'local', known)
    const send = async (eventId: string) => statusOf(await sendEvent(lane, 1, eventId))
    expect(await send('e1')).to.equal('created')
    const changing = new Database(url, 1, { guard: newGuard(known) })
    const change = () =>
      changing.transaction((sql) => sql.change('UPDATE user_state SET settings = settings + 1'))
    await change()
    const { id } = await read()
    await becomeAnother()
    const refused = await change().catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(ServiceError).and.to.include({ code: 'overloaded' })
    expect((await read()).id, 'nobody has connected').to.equal(id)
    expect(await send('e1')).to.equal('duplicate')
    const now = await read()
    expect(now.id).not.to.equal(id)
    await change()
    expect(await send('e2')).to.equal('created')
    expect(await read()).to.deep.equal(now)
    await lane.close()
    await changing.close()
  })

  it('waits for a group that a lane has begun, whose rows it has then', async () => {
    await addUsers(url, [1, 2])
    const lane = newLane(url)
    expect(statusOf(await sendEvent(lane, 1, 'first'))).to.equal('created')
    const obstacle = await connectAlone(url, false)
    await obstacle.query('BEGIN; SELECT 1 FROM user_state FOR UPDATE')
    const sending = sendEvent(lane, 2, 'second')
    await pause(100)
    const restoring = declareRestored(url)
    await pause(100)
    await obstacle.end()
    await restoring
    expect(statusOf(await sending)).to.equal('created')
    expect(statusOf(await sendEvent(lane, 2, 'second'))).to.equal('duplicate')
    await lane.close()
  })

  it('is noticed within a second by a process that nobody asks anything', async () => {
    const log = new RecordingLog()
    const guard = newGuard(new KnownData())
    const watched = new Database(url, 2, { guard })
    const server = { version: '15', name: 'test', timeMs: 0, faults: [], warnings: [] }
    const watch = new PostgresServerWatch(
      { database: watched, clock: systemClock, log, guard },
      { process: 'test', durability: 'local', server },
    )
    await watch.start()
    const beats = async () => {
      const text = 'SELECT beat::int, at_ms::float8 AS "atMs" FROM beats'
      return (await ask<{ beat: number; atMs: number }>(url, text))[0]
    }
    const first = await beats()
    expect(first?.beat).to.be.above(0)
    expect(first?.atMs).to.be.closeTo(Date.now(), 5_000)
    const { id } = watch
    await becomeAnother()
    await until('it is noticed', async () => watch.id !== id)
    const now = await read()
    expect(watch.id).to.equal(now.id)
    expect(watch.restoredToMs).to.equal(now.restoredToMs)
    expect(now.restoredToMs).to.be.closeTo(Date.now(), 5_000)
    watch.stop()
    await watched.close()
  })
})
