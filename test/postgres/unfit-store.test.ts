// Goal: a takeover that cannot be finished, because the store that knows which ids are taken is
// another one than the settings say, refuses requests until it can be, and says why. Method: a
// service on a database that is made to seem another server's.

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

const OTHER = 'InfluxDB, organization home, bucket attic'

describe('a takeover of data with measurements in another store', () => {
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
  const setStore = (name: string) =>
    ask(database.url, 'UPDATE measurement_store SET name = $1', name)

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

  it('is refused, and said once, until the store is the right one', async () => {
    expect((await write()).status).to.equal(201)
    await setStore(OTHER)
    await ask(database.url, "UPDATE data_identity SET timeline = '0000000A'")
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
    expect(said[0]?.fields['reason']).to.contain(OTHER).and.contain('set INFLUX_URL')
    const starting = createService(config(), { log: new RecordingLog() })
    expect(await starting.catch((error: unknown) => error)).to.be.instanceOf(UnfitSettings)
    await setStore('PostgreSQL')
    await until('it goes on', async () => (await read()).status === 200)
    expect((await write()).status).to.equal(200)
  })
})
