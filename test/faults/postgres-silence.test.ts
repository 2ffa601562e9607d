// Goal: whoever sends is answered in time although the server is silent: a host that hangs, a path
// that drops everything. Method: a proxy that passes nothing on from a statement on.

import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { connectAlone } from '../../src/postgres/server/connection.ts'
import { Database } from '../../src/postgres/server/database.ts'
import {
  addUsers,
  ask,
  LosingProxy,
  newGuard,
  newLane,
  sendEvent,
  statusOf,
} from '../support/lanes.ts'
import { newMigratedDatabase, usePostgres } from '../support/postgres.ts'
import { within } from '../support/until.ts'

const USER = 1
const PLACES = 2
/** Nearly as long as anybody waits for a connection, and together longer. */
const FAILED_GREETING_MS = 2_800
const SLOW_GREETING_MS = 500

describe('a lane that the server does not answer', () => {
  const postgres = usePostgres()

  for (const statement of ['pg_is_in_recovery', 'system_identifier', 'INSERT INTO streams']) {
    it(`gives up at ${statement}, and goes on when it is answered again`, async () => {
      const database = await newMigratedDatabase(postgres())
      await addUsers(database.url, [USER])
      const { proxy, url } = await LosingProxy.start(database.url)
      const lane = newLane(url)
      proxy.withhold = statement
      const outcome = await sendEvent(lane, USER, 'e1').catch((error: unknown) => error)
      expect(outcome).to.include({ code: 'overloaded' })
      expect(statusOf(await sendEvent(lane, USER, 'e1'))).to.equal('created')
      await lane.close()
      await proxy.stop()
      await database.remove()
    })
  }

  it('gives up where another server cannot be recorded, and goes on when it can', async () => {
    const database = await newMigratedDatabase(postgres())
    await addUsers(database.url, [USER])
    await ask(database.url, "UPDATE data_identity SET timeline = 'of another server'")
    const holder = await connectAlone(database.url, false)
    await holder.query('BEGIN; SELECT 1 FROM data_identity FOR UPDATE')
    const lane = newLane(database.url)
    const outcome = await sendEvent(lane, USER, 'e1').catch((error: unknown) => error)
    expect(outcome).to.include({ code: 'overloaded' })
    await holder.end()
    expect(statusOf(await sendEvent(lane, USER, 'e1'))).to.equal('created')
    await lane.close()
    await database.remove()
  })
})

describe('a server that is slow to be checked', () => {
  const postgres = usePostgres()

  it('takes no place of a pool for good when nobody waits any more', async () => {
    const database = await newMigratedDatabase(postgres())
    let greetings = 0
    const greet = async () => {
      if (++greetings > PLACES) return pause(SLOW_GREETING_MS)
      await pause(FAILED_GREETING_MS)
      throw Object.assign(new Error('connection lost'), { code: 'ECONNRESET' })
    }
    const small = new Database(database.url, PLACES, { guard: { ...newGuard(), greet } })
    const askOne = () => small.rows('SELECT 1 AS one')
    await Promise.allSettled([askOne(), askOne(), askOne(), askOne()])
    expect(await Promise.all([askOne(), askOne(), askOne()])).to.have.lengthOf(3)
    await within('it is closed', small.close())
    await database.remove()
  })
})
