// Goal: a process whose clock is another one than the server's accepts nothing, and says which of
// the two says what. Method: services with a clock that a test moves, on a real server.

import { hostname } from 'node:os'
import { expect } from 'chai'
import { createService } from '../../src/compose.ts'
import type { Service } from '../../src/compose.ts'
import { loadConfig } from '../../src/config.ts'
import { openOperations } from '../../src/data-dir/operations.ts'
import type { MachineClock } from '../../src/ports/system.ts'
import { systemClock } from '../../src/system/clock.ts'
import { send } from '../support/http.ts'
import { RecordingLog } from '../support/log.ts'
import { newDatabase, usePostgres } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'
import { until } from '../support/until.ts'

describe('a clock that differs from that of the server', () => {
  const postgres = usePostgres()
  let database: TestDatabase
  let service: Service | undefined
  let log: RecordingLog
  let offByMs = 0
  const clock: MachineClock = { ...systemClock, nowMs: () => Date.now() + offByMs }

  beforeEach(async () => {
    database = await newDatabase(postgres())
    log = new RecordingLog()
  })
  afterEach(async () => {
    await service?.stop()
    service = undefined
    await database?.remove()
  })

  const configOf = () => loadConfig({ PORT: '0', DATABASE_URL: database.url })
  const start = async () => {
    service = await createService(configOf(), { clock, log })
    return (await service.start()).url
  }
  const createToken = async () => {
    const { operations, close } = await openOperations(configOf())
    await operations.run('user create', { email: 'ana@example.org' })
    const { token } = await operations.run('token create', {
      user: 'ana@example.org',
      name: 'gateway',
    })
    await close()
    return token
  }

  for (const [what, ms] of Object.entries({ ahead: 11_000, behind: -11_000 })) {
    it(`refuses from the first request on, when it is ${what}, until it agrees`, async () => {
      const token = await createToken()
      offByMs = ms
      const url = await start()
      const submit = () => {
        const body = { sn: 'cellar', temp: 1 }
        return send(url, { method: 'POST', path: '/api/v1/measurements', token, body })
      }
      const refused = await submit()
      expect([refused.status, refused.body.code]).to.deep.equal([503, 'clock_unset'])
      const { status, body } = await send(url, { path: '/readyz' })
      expect([status, body.code]).to.deep.equal([503, 'clock_unset'])
      const [, host, here = '', there = ''] =
        /^The clock of (.*) says (.*), that of the database (.*)\.$/.exec(body.detail) ?? []
      expect(host).to.equal(hostname())
      const difference = Date.parse(here) - Date.parse(there)
      expect(difference).to.be.within(ms - 5_000, ms + 5_000)
      expect(log.events.filter(({ level }) => level === 'error')).to.have.lengthOf(1)
      offByMs = 0
      await until('it is accepted', async () => (await submit()).status === 201)
    })
  }

  it('is borne within ten seconds', async () => {
    const token = await createToken()
    offByMs = 8_000
    const url = await start()
    const body = { sn: 'cellar', temp: 1 }
    const order = { method: 'POST', path: '/api/v1/measurements', token, body }
    expect((await send(url, order)).status).to.equal(201)
  })
})
