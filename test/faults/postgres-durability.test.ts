// Goal: what no standby has is never acknowledged where one is promised, whatever lets the COMMIT
// come back. Method: a server that waits for a standby that there is not, and somebody who cancels
// the wait or changes the settings meanwhile.

import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { migrate } from '../../src/postgres/migrate.ts'
import { addUsers, ask, newLane, sendEvent, statusOf } from '../support/lanes.ts'
import { newDatabase, usePostgresServer } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'

const USER = 1

describe('a COMMIT that waits for a standby', () => {
  const server = usePostgresServer()
  let database: TestDatabase
  let lane: ReturnType<typeof newLane>
  beforeEach(async () => {
    await setStandby('')
    database = await newDatabase(server())
    await migrate(database.url)
    await addUsers(database.url, [USER])
    // What a lane writes before its first group does not wait then.
    const local = newLane(database.url)
    await sendEvent(local, USER, 'e0')
    await local.close()
    lane = newLane(database.url, 'replicated')
    expect(await send('e1')).to.equal('overloaded')
    await setStandby('nobody')
  })
  afterEach(async () => {
    await setStandby('')
    await lane.close()
    await database.remove()
  })

  const setStandby = async (names: string) => {
    await ask(server().url(), `ALTER SYSTEM SET synchronous_standby_names = '${names}'`)
    await ask(server().url(), 'SELECT pg_reload_conf()')
    await pause(100)
  }
  const send = (eventId: string) =>
    sendEvent(lane, USER, eventId).then(statusOf, (error: { code?: string }) => error.code)
  const isWaiting = async () => {
    const text = `SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'`
    for (;;) {
      const [row] = await ask<{ pid: number }>(database.url, text)
      if (row !== undefined) return row.pid
      await pause(20)
    }
  }

  it('is not acknowledged when its wait is cancelled', async () => {
    const sent = send('e2')
    await ask(database.url, 'SELECT pg_cancel_backend($1)', await isWaiting())
    expect(await sent).to.equal('outcome_unknown')
  })

  it('is not acknowledged when the settings are changed', async () => {
    const sent = send('e2')
    await isWaiting()
    await setStandby('')
    expect(await sent).to.equal('outcome_unknown')
  })

  it('is not acknowledged as a duplicate either', async () => {
    const sent = send('e0')
    await isWaiting()
    await setStandby('')
    expect(await sent).to.equal('outcome_unknown')
  })
})
