// Goal: what no standby has is never acknowledged where one is promised, whatever lets the COMMIT
// come back. Method: a server that waits for a standby that there is not, and somebody who cancels
// the wait or changes the settings meanwhile.

import { expect } from 'chai'
import { migrate } from '../../src/postgres/server/migrate.ts'
import { addUsers, ask, newLane, sendEvent, statusOf } from '../support/lanes.ts'
import { newDatabase, usePostgresServer } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'
import { until, within } from '../support/until.ts'

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
    await until('the settings are read', async () => {
      const setting = "SELECT current_setting('synchronous_standby_names') AS names"
      return (await ask<{ names: string }>(server().url(), setting))[0]?.names === names
    })
    if (names !== '') await until('a COMMIT waits', isCommitHeldUp)
  }
  const findWaiting = async () => {
    const text = `SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'`
    return (await ask<{ pid: number }>(server().url(), text))[0]?.pid
  }
  const cancel = (pid: number) => ask(server().url(), 'SELECT pg_cancel_backend($1)', pid)
  /** Other processes of the server read the settings later than new sessions have them. */
  const isCommitHeldUp = async () => {
    let isOver = false
    const probe = "SELECT pg_logical_emit_message(true, 'probe', '')"
    const probing = ask(server().url(), probe).finally(() => (isOver = true))
    let pid: number | undefined
    await until('the probe waits or is over', async () => {
      pid = await findWaiting()
      return isOver || pid !== undefined
    })
    if (pid !== undefined) await cancel(pid)
    await probing
    return pid !== undefined
  }
  const send = (eventId: string) =>
    sendEvent(lane, USER, eventId).then(statusOf, (error: { code?: string }) => error.code)
  const untilItWaits = () =>
    until('a COMMIT waits', async () => (await findWaiting()) !== undefined)

  it('is not acknowledged when its wait is cancelled', async () => {
    const sent = send('e2')
    await untilItWaits()
    await cancel((await findWaiting()) ?? 0)
    expect(await within('it is answered', sent)).to.equal('outcome_unknown')
  })

  it('is not acknowledged when the settings are changed', async () => {
    const sent = send('e2')
    await untilItWaits()
    await setStandby('')
    expect(await within('it is answered', sent)).to.equal('outcome_unknown')
  })

  it('is not acknowledged as a duplicate either', async () => {
    const sent = send('e0')
    await untilItWaits()
    await setStandby('')
    expect(await within('it is answered', sent)).to.equal('outcome_unknown')
  })
})
