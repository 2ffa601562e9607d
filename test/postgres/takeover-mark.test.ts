// Goal: what is acknowledged after a restore was declared is marked as what the next server may
// lack, however the lane came by its stream. Method: lanes that take one while the restore is under
// way, or only after it.

import { expect } from 'chai'
import { connectAlone } from '../../src/postgres/server/connection.ts'
import { declareRestored } from '../../src/postgres/server/renewal.ts'
import { addUsers, ask, newLane, sendEvent, statusOf } from '../support/lanes.ts'
import { countLockWaits } from '../support/lock-waits.ts'
import { newMigratedDatabase, usePostgres } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'
import { until } from '../support/until.ts'

/** As on a full disk. */
const REFUSE_STREAMS = `
  CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = '53100'; END $$;
  CREATE TRIGGER refuse BEFORE INSERT ON streams FOR EACH ROW EXECUTE FUNCTION refuse()`

describe('the mark of what another server may lack', () => {
  const postgres = usePostgres()
  let database: TestDatabase
  let url: string

  beforeEach(async () => {
    database = await newMigratedDatabase(postgres())
    url = database.url
    await addUsers(url, [1, 2])
  })
  afterEach(() => database.remove())

  const isMarked = async () => {
    const text = 'SELECT may_lack AS "isMarked" FROM data_identity'
    return (await ask<{ isMarked: boolean }>(url, text))[0]?.isMarked
  }
  const send = async (lane: ReturnType<typeof newLane>, user: number, event: string) =>
    statusOf(await sendEvent(lane, user, event))

  it('is set by a lane that begins while a restore is declared', async () => {
    const [first, second] = [newLane(url), newLane(url)]
    expect(await send(first, 1, 'first')).to.equal('created')
    const obstacle = await connectAlone(url, false)
    await obstacle.query('BEGIN; SELECT 1 FROM stream_forwarded FOR UPDATE')
    const restoring = declareRestored(url)
    await until('the restore waits', async () => (await countLockWaits(url)) === 1)
    const sending = send(second, 2, 'second')
    await until('the lane waits for it', async () => (await countLockWaits(url)) === 2)
    await obstacle.end()
    await restoring
    expect(await sending).to.equal('created')
    expect(await isMarked()).to.equal(true)
    await first.close()
    await second.close()
  })

  it('is set by a lane that could take no stream until a restore was declared', async () => {
    const lane = newLane(url)
    await ask(url, REFUSE_STREAMS)
    const refusal: unknown = await send(lane, 1, 'refused').catch((error: unknown) => error)
    expect(refusal).to.have.property('code', 'storage_full')
    await ask(url, 'DROP TRIGGER refuse ON streams')
    await declareRestored(url)
    expect(await isMarked()).to.equal(false)
    expect(await send(lane, 1, 'taken')).to.equal('created')
    expect(await isMarked()).to.equal(true)
    await lane.close()
  })
})
