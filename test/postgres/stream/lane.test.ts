// Goal: what a lane answers is true whatever becomes of its connection, its stream and its server.
// Method: a real server, a proxy that loses answers, and statements that take streams and locks.

import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import pg from 'pg'
import { declareRestored } from '../../../src/postgres/server/restore.ts'
import type { Durability } from '../../../src/postgres/server/durability.ts'
import { measurement, submission } from '../../contract/open-data.ts'
import { addUsers, ask, LosingProxy, newLane, sendEvent, statusOf } from '../../support/lanes.ts'
import { countLockWaits, cutProcesses } from '../../support/lock-waits.ts'
import { newMigratedDatabase, runOnce, usePostgres } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'

const USER = 1
const FAIL = `
  CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE 'a page cannot be read' USING ERRCODE = 'XX001'; END $$;
  CREATE TRIGGER fail BEFORE INSERT ON ledger FOR EACH ROW EXECUTE FUNCTION fail()`

describe('a lane', () => {
  const postgres = usePostgres()
  let database: TestDatabase
  let lane: ReturnType<typeof newLane>
  beforeEach(async () => {
    database = await newMigratedDatabase(postgres())
    await addUsers(database.url, [USER])
    lane = openLane()
  })
  afterEach(async () => {
    await lane.close()
    await database.remove()
  })

  const openLane = (durability: Durability = 'local', url = database.url) =>
    newLane(url, durability)
  const send = async (eventId: string | null) => statusOf(await sendEvent(lane, USER, eventId))
  const read = <Row extends pg.QueryResultRow>(text: string, ...values: unknown[]) =>
    ask<Row>(database.url, text, ...values)
  const countRows = async () =>
    (await read<{ n: number }>('SELECT count(*)::int AS n FROM journal'))[0]?.n
  const countConnections = async () => {
    const text = `SELECT 1 FROM pg_stat_activity
      WHERE application_name = 'thermolog' AND datname = current_database()`
    return (await ask(database.url, text)).length
  }
  const lockWaits = () => countLockWaits(database.url)
  const cut = () => cutProcesses(database.url)

  it('goes on after its connection is cut', async () => {
    expect(await send('e1')).to.equal('created')
    await cut()
    expect(await send('e1')).to.equal('duplicate')
    expect(await send('e2')).to.equal('created')
  })

  it('takes another stream when its own is taken', async () => {
    await send('e1')
    await read("UPDATE streams SET fence = fence + 1, lease_until = now() + interval '1 hour'")
    expect(await send('e2')).to.equal('created')
    const rows = await read<{ stream_id: number }>(
      'SELECT stream_id FROM journal ORDER BY stream_id',
    )
    expect(rows.map((row) => row.stream_id)).to.deep.equal([1, 2])
  })

  it('takes over a stream that was left', async () => {
    await send('e1')
    await lane.close()
    lane = openLane()
    await send('e2')
    const rows = await read<{ seq: string }>(
      'SELECT seq FROM journal WHERE stream_id = 1 ORDER BY seq',
    )
    expect(rows.map(({ seq }) => Number(seq))).to.deep.equal([1, 2])
  })

  it('finds a sensor that was deleted and registered again', async () => {
    await send('e1')
    await read('UPDATE sensors SET deleted_at_ms = 1')
    await read('DELETE FROM sensor_state')
    expect(await send('e2')).to.equal('created')
    expect(await send('e1')).to.equal('duplicate')
    const rows = await read<{ id: number }>('SELECT sensor_id AS id FROM ledger ORDER BY sensor_id')
    expect(rows).to.deep.equal([{ id: 1 }, { id: 2 }])
  })

  it('refuses what PostgreSQL cannot have, and nothing else of its group', async () => {
    const group = lane.beginGroup()
    const serialNumbers = ['cellar', 'at\0tic', 'garden']
    for (const serialNumber of serialNumbers) {
      group.add(submission(USER, measurement({ serialNumber })), false)
    }
    const outcomes = await lane.commit(group)
    expect(outcomes.map(statusOf)).to.deep.equal(['created', 'internal_error', 'created'])
  })

  it('stores a name without the character that PostgreSQL has not', async () => {
    const group = lane.beginGroup()
    group.add(submission(USER, measurement({ alias: 'At\0tic' })), false)
    await lane.commit(group)
    expect(await read('SELECT alias FROM sensors')).to.deep.equal([{ alias: 'At\ufffdtic' }])
  })

  it('registers nothing for a user who is deleted', async () => {
    expect(statusOf(await sendEvent(lane, 2, 'e1'))).to.equal('invalid_token')
  })

  it('waits for another that stores the same event', async () => {
    await send('e1')
    const other = openLane()
    const holder = new pg.Client({ connectionString: database.url })
    // When the test fails, the database is removed while it is connected.
    holder.on('error', () => undefined)
    await holder.connect()
    await holder.query('BEGIN')
    await holder.query(`SELECT FROM sensor_state FOR UPDATE`)
    const sent = [send('e2'), sendEvent(other, USER, 'e2').then(statusOf)]
    await until('both wait for the sensor', async () => (await lockWaits()) === 2)
    await holder.query('COMMIT')
    await holder.end()
    expect(await Promise.all(sent)).to.have.members(['created', 'duplicate'])
    await other.close()
  })

  it('acknowledges nothing where a standby is promised and there is none', async () => {
    const replicated = openLane('replicated')
    const outcome = await sendEvent(replicated, USER, 'e1').catch((error: unknown) => error)
    expect(outcome).to.include({ code: 'overloaded' })
    expect(String((outcome as { hint?: string }).hint)).to.include('synchronous_standby_names')
    expect(await countRows()).to.equal(0)
    await replicated.close()
  })

  describe('that does not hear the answer', () => {
    let proxy: LosingProxy
    let losing: ReturnType<typeof newLane>
    beforeEach(async () => {
      // The server is recorded by then, so that the first COMMIT is the group's.
      await send('e1')
      const started = await LosingProxy.start(database.url)
      proxy = started.proxy
      losing = openLane('local', started.url)
    })
    afterEach(async () => {
      await losing.close()
      await proxy.stop()
    })

    it('to its COMMIT finds what it has stored', async () => {
      proxy.loseAnswer = 'COMMIT'
      expect(statusOf(await sendEvent(losing, USER, null))).to.equal('created')
      expect(await countRows()).to.equal(2)
    })

    it('to a COMMIT that never arrived finds nothing, and stores it again', async () => {
      proxy.lose = 'COMMIT'
      expect(statusOf(await sendEvent(losing, USER, null))).to.equal('created')
      expect(await countRows()).to.equal(2)
    })

    it('to anything before it stores it again', async () => {
      proxy.lose = 'FOR NO KEY UPDATE'
      expect(statusOf(await sendEvent(losing, USER, null))).to.equal('created')
      expect(await countRows()).to.equal(2)
    })

    it('ends each connection that it may not use yet', async () => {
      await read('CREATE TABLE moving ()')
      const sent = sendEvent(losing, USER, 'e2')
      await until('it has tried often', async () => proxy.connected > 4)
      expect(await countConnections()).to.be.at.most(2)
      await read('DROP TABLE moving')
      expect(statusOf(await sent)).to.equal('created')
    })
  })

  it('makes everything new when another server has taken over', async () => {
    await send('e1')
    type Identity = { readonly id: string; readonly epoch: string; readonly restored_to_ms: string }
    const [before] = await read<Identity>('SELECT * FROM data_identity')
    await read('INSERT INTO beats VALUES (gen_random_uuid(), 1, 1)')
    await read("UPDATE data_identity SET timeline = '00000000'")
    await cut()
    expect(await send('e1')).to.equal('duplicate')
    const [after] = await read<Identity>('SELECT * FROM data_identity')
    expect(after?.id).not.to.equal(before?.id)
    expect(after?.epoch).not.to.equal(before?.epoch)
    expect(Number(after?.restored_to_ms)).to.equal(1)
    const [{ head } = { head: 0 }] = await read<{ head: string }>(
      'SELECT max(head) AS head FROM streams',
    )
    expect(Number(head)).to.be.greaterThan(2 ** 40)
    await read('DELETE FROM sensor_state')
    await read('UPDATE sensors SET deleted_at_ms = 1')
    await send('e2')
    const [{ id } = { id: 0 }] = await read<{ id: number }>('SELECT max(id) AS id FROM sensors')
    expect(id).to.be.greaterThan(2 ** 20)
  })

  it('accepts nothing where the data are those of before a restore, until it is told', async () => {
    await send('e1')
    await read("UPDATE data_identity SET epoch = '0'")
    const sent = send('e2')
    await pause(300)
    expect(await countRows()).to.equal(1)
    await declareRestored(database.url)
    expect(await sent).to.equal('created')
    expect(await send('e1')).to.equal('duplicate')
  })

  it('writes nothing to a sensor that is another user’s by now', async () => {
    await send('e1')
    await read('UPDATE sensors SET user_id = 2')
    await read('UPDATE sensor_state SET user_id = 2')
    expect(await send('e2')).to.equal('created')
    const rows = await read('SELECT sensor_id::int AS id FROM ledger WHERE user_id = 1 ORDER BY 1')
    expect(rows).to.deep.equal([{ id: 1 }, { id: 2 }])
  })
})

describe('a lane that meets a damaged page', () => {
  const postgres = usePostgres()

  it('says so, and goes on once that is repaired', async () => {
    const database = await newMigratedDatabase(postgres())
    await addUsers(database.url, [USER])
    await runOnce(database.url, FAIL)
    const lane = newLane(database.url)
    const failure = await sendEvent(lane, USER, 'e1').catch((error: unknown) => error)
    expect(failure).to.include({ code: 'data_damaged' })
    await runOnce(database.url, 'DROP FUNCTION fail CASCADE')
    expect(statusOf(await sendEvent(lane, USER, 'e1'))).to.equal('created')
    await lane.close()
    await database.remove()
  })
})
