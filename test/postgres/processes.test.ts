// Goal: other processes need not wait for what a process leaves behind. Method: a service on a real
// database, which is looked at afterwards.

import { expect } from 'chai'
import { createService } from '../../src/compose.ts'
import { loadConfig } from '../../src/config.ts'
import { openOperations } from '../../src/data-dir/operations.ts'
import { systemClock as clock } from '../../src/system/clock.ts'
import { send } from '../support/http.ts'
import { ask } from '../support/lanes.ts'
import { RecordingLog } from '../support/log.ts'
import { newDatabase, usePostgres } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'

const USER = 'ana@example.org'

describe('a process that ends', () => {
  const postgres = usePostgres()
  let database: TestDatabase
  beforeEach(async () => {
    database = await newDatabase(postgres())
  })
  afterEach(() => database.remove())

  const config = () => loadConfig({ PORT: '0', DATABASE_URL: database.url })
  const createToken = async () => {
    const { operations, close } = await openOperations(config())
    await operations.run('user create', { email: USER })
    const { token } = await operations.run('token create', { user: USER, name: 'gateway' })
    await close()
    return token
  }
  it('leaves its streams, also those whose connection was lost', async () => {
    const token = await createToken()
    const service = await createService(config(), { clock, log: new RecordingLog() })
    const { url } = await service.start()
    const body = { sn: 'cellar', temp: 1 }
    const order = { method: 'POST', path: '/api/v1/measurements', token, body }
    expect((await send(url, order)).status).to.equal(201)
    await ask(
      database.url,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    )
    await service.stop()
    const held = 'SELECT FROM streams WHERE lease_until IS NOT NULL'
    expect(await ask(database.url, held)).to.have.lengthOf(0)
  })
})
