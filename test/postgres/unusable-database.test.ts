// Goal: a database that cannot be used while a service runs on it refuses requests until it can be,
// and says why. Method: one of its tables is out of reach, as where a role has lost a right.

import { expect } from 'chai'
import { createService } from '../../src/compose.ts'
import type { Service } from '../../src/compose.ts'
import { loadConfig, UnfitSettings } from '../../src/config.ts'
import { createFleetToken } from '../support/fleet-token.ts'
import { send } from '../support/http.ts'
import { ask } from '../support/lanes.ts'
import { RecordingLog } from '../support/log.ts'
import { newMigratedDatabase, usePostgres } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'
import { until } from '../support/until.ts'

describe('a database that cannot be used for a while', () => {
  const postgres = usePostgres()
  const log = new RecordingLog()
  let database: TestDatabase
  let service: Service | undefined
  let url: string
  let token: string

  const config = () => loadConfig({ PORT: '0', DATABASE_URL: database.url })
  const read = () => send(url, { path: '/api/v1/sensors', token })
  const write = () => {
    const body = { event_id: 'e1', sn: 'cellar', temp: 1, timestamp: '2026-03-10T10:00:00Z' }
    return send(url, { method: 'POST', path: '/api/v1/measurements', token, body })
  }

  before(async () => {
    database = await newMigratedDatabase(postgres())
    token = await createFleetToken('nowhere', 'ana@example.org', { DATABASE_URL: database.url })
    service = await createService(config(), { log })
    url = (await service.start()).url
  })
  after(async () => {
    await service?.stop()
    await database?.remove()
  })

  it('refuses requests, and says why once, until it can be used', async () => {
    expect((await write()).status).to.equal(201)
    await ask(database.url, 'ALTER TABLE data_identity RENAME TO elsewhere')
    await ask(
      database.url,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE application_name = 'thermolog' AND datname = current_database()`,
    )
    for (const answer of [await read(), await write(), await write()]) {
      expect(answer.status).to.equal(503)
      expect(answer.body).to.include({ code: 'overloaded' })
    }
    const said = log.events.filter(({ message }) => message === 'the database cannot be used now')
    expect(said).to.have.lengthOf(1)
    expect(said[0]?.fields['reason']).to.contain('data_identity')
    const starting = createService(config(), { log: new RecordingLog() })
    expect(await starting.catch((error: unknown) => error)).to.be.instanceOf(UnfitSettings)
    await ask(database.url, 'ALTER TABLE elsewhere RENAME TO data_identity')
    await until('it goes on', async () => (await read()).status === 200)
    expect((await write()).status).to.equal(200)
  })
})
