// Goal: whoever sends is answered in time although the server is silent: a host that hangs, a path
// that drops everything. Method: a proxy that passes nothing on from a statement on.

import { expect } from 'chai'
import { NO_IDS } from '../../src/domain/ids-after-restore.ts'
import type { HighestIds } from '../../src/domain/ids-after-restore.ts'
import { addUsers, ask, LosingProxy, newLane, sendEvent, statusOf } from '../support/lanes.ts'
import { newMigratedDatabase, usePostgres } from '../support/postgres.ts'

const USER = 1

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

  it('gives up where another server waits for the store to say which ids it has', async () => {
    const database = await newMigratedDatabase(postgres())
    await addUsers(database.url, [USER])
    await ask(database.url, "UPDATE data_identity SET timeline = 'of another server'")
    const silent = Promise.withResolvers<HighestIds>()
    const lane = newLane(database.url, 'local', () => silent.promise)
    const outcome = await sendEvent(lane, USER, 'e1').catch((error: unknown) => error)
    expect(outcome).to.include({ code: 'overloaded' })
    silent.resolve(NO_IDS)
    expect(statusOf(await sendEvent(lane, USER, 'e1'))).to.equal('created')
    await lane.close()
    await database.remove()
  })
})
