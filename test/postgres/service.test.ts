// Goal: it does not matter which of several processes answers. Method: two whole services on one
// database, asked in turn.

import { expect } from 'chai'
import { mintToken } from '../../src/access/tokens.ts'
import { createService } from '../../src/compose.ts'
import type { Service } from '../../src/compose.ts'
import { loadConfig } from '../../src/config.ts'
import { openOperations } from '../../src/data-dir/operations.ts'
import type { Operations } from '../../src/commands/operations.ts'
import type { MachineClock } from '../../src/ports/system.ts'
import { systemClock } from '../../src/system/clock.ts'
import { PERMISSIVE } from '../contract/open-data.ts'
import { runCommand, runProcess } from '../support/command.ts'
import { EventReader } from '../support/events.ts'
import { send } from '../support/http.ts'
import { ask } from '../support/lanes.ts'
import { RecordingLog } from '../support/log.ts'
import { openProcess } from '../support/postgres-process.ts'
import { newDatabase, newMigratedDatabase, runOnce, usePostgres } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'
import { until, within } from '../support/until.ts'

const ANA = 'ana@example.org'
const AT = '2026-11-20T10:15:00.000Z'

describe('two services on one database', () => {
  const postgres = usePostgres()
  let database: TestDatabase
  let services: { readonly url: string; readonly service: Service }[] = []
  let operations: Operations
  let closeOperations: () => Promise<void>

  /** The time of the server, unless it is to stand still for a moment. */
  let stillAtMs: number | undefined
  const clock: MachineClock = { ...systemClock, nowMs: () => stillAtMs ?? systemClock.nowMs() }

  const configOf = (settings: Record<string, string> = {}) =>
    loadConfig({ PORT: '0', DATABASE_URL: database.url, ...settings })
  const startOne = async () => {
    const service = await createService(configOf(), {
      clock,
      log: new RecordingLog(),
    })
    return { service, url: (await service.start()).url }
  }

  before(async () => {
    database = await newDatabase(postgres())
    services = await Promise.all([startOne(), startOne()])
    const opened = await openOperations(configOf())
    ;({ operations, close: closeOperations } = opened)
    await operations.run('user create', { email: ANA })
  })
  after(async () => {
    await closeOperations?.()
    for (const { service } of services) await service.stop()
    await database?.remove()
  })

  const urlOf = (at: number) => services[at]?.url ?? ''
  const createToken = () => operations.run('token create', { user: ANA, name: 'gateway' })
  const submit = (at: number, token: string, body: object) =>
    send(urlOf(at), { method: 'POST', path: '/api/v1/measurements', token, body })

  it('store an event once, whichever is asked, and agree about everything', async () => {
    const { token } = await createToken()
    const event = { event_id: 'e1', sn: 'cellar', temp: 11.75, timestamp: AT }
    const answers = await Promise.all([0, 1, 0, 1].map((at) => submit(at, token, event)))
    const codes = answers.map(({ status }) => status)
    expect(codes.filter((status) => status === 201)).to.have.lengthOf(1)
    expect(codes.filter((status) => status === 200)).to.have.lengthOf(3)
    const other = await submit(1, token, { ...event, temp: 12 })
    expect(other.status).to.equal(409)
    const [one, two] = await Promise.all([0, 1].map((at) => sensorsAt(at, token)))
    expect(one).to.deep.equal(two)
    expect(one).to.have.lengthOf(1)
  })

  it('show what was acknowledged at once, also the one that was not told', async () => {
    const { token } = await createToken()
    for (let round = 0; round < 5; round++) {
      const timestamp = new Date(Date.parse(AT) + round * 1_000).toISOString()
      await submit(round % 2, token, { sn: 'attic', temp: round, timestamp })
      const sensor = (await sensorsAt(0, token)).find(({ sn }) => sn === 'attic')
      const range = 'from=2026-11-20T10:00:00Z&to=2026-11-20T11:00:00Z&bucket=raw'
      const path = `/api/v1/sensors/${sensor?.id}/measurements?${range}`
      // It may say that it has not all, but only where forwarding takes longer than it waits.
      let history = await send(urlOf((round + 1) % 2), { path, token })
      await until('the history is complete', async () => {
        if (history.body.data?.complete === true) return true
        history = await send(urlOf((round + 1) % 2), { path, token })
        return false
      })
      expect(JSON.stringify(history.body)).to.contain(timestamp)
    }
  })

  it('refuse a token from the moment it is revoked', async () => {
    const { id, token } = await createToken()
    const statuses = async () => {
      const asked = [0, 1].map((at) => send(urlOf(at), { path: '/api/v1/me', token }))
      return (await Promise.all(asked)).map(({ status }) => status)
    }
    expect(await statuses()).to.deep.equal([200, 200])
    await operations.run('token revoke', { id: String(id) })
    expect(await statuses()).to.deep.equal([401, 401])
  })

  it('tell of what another one accepts, and go on for it, until the token ends', async () => {
    const { token } = await createToken()
    const mobile = mintToken('mobile')
    const { controlWriter: writer, close } = await openProcess(database.url, PERMISSIVE)
    const { id } = await writer.createToken({
      userId: 1,
      kind: 'mobile',
      name: 'phone',
      rights: ['sensors:read'],
      hash: mobile.hash,
      expiresAtMs: null,
    })
    const reader = await EventReader.open(urlOf(1), mobile.text)
    await submit(0, token, { sn: 'roof', temp: 3, timestamp: AT })
    const { id: lastEventId } = await reader.find(({ data }) => data.sn === 'roof')
    reader.close()
    await submit(1, token, { sn: 'roof', temp: 4, timestamp: AT })
    const resumed = await EventReader.open(urlOf(0), mobile.text, lastEventId)
    expect((await resumed.next()).data.latest).to.include({ temp: 4 })
    await writer.revokeToken(id)
    await resumed.rest()
    await close()
  })

  it('forget a user at once, and delete what the user had', async () => {
    await operations.run('user create', { email: 'ben@example.org' })
    const { token } = await operations.run('token create', {
      user: 'ben@example.org',
      name: 'gateway',
    })
    await submit(0, token, { sn: 'shed', temp: 3, timestamp: AT })
    const phone = mintToken('mobile')
    await ask(
      database.url,
      `INSERT INTO access_tokens (user_id, kind, name, rights, hash, created_at_ms)
       SELECT max(id), 'mobile', 'phone', 'sensors:read', $1, $2 FROM users`,
      phone.hash,
      Date.now(),
    )
    const reader = await EventReader.open(urlOf(1), phone.text)
    const { id, sensors } = await operations.run('user delete', { user: 'ben@example.org' })
    expect(sensors).to.equal(1)
    expect((await submit(1, token, { sn: 'shed', temp: 3 })).status).to.equal(401)
    await reader.rest()
    await until('nothing is left', async () => {
      const rows = await runOnce(database.url, `SELECT id FROM sensors WHERE user_id = ${id}`)
      const ids = rows.map((row) => String(row['id'])).join()
      const stored = `SELECT FROM measurements WHERE sensor_id IN (${ids})`
      const left = [stored, 'SELECT FROM user_deletions'].map((text) => runOnce(database.url, text))
      return (await Promise.all(left)).flat().length === 0
    })
  })

  it('say which data they have, and what they are doing', async () => {
    const { token } = await createToken()
    stillAtMs = systemClock.nowMs()
    const [one, two] = await Promise.all(
      [0, 1].map((at) => send(urlOf(at), { path: '/api/v1/me', token })),
    )
    stillAtMs = undefined
    expect(one?.body).to.deep.equal(two?.body)
    const ready = (await send(urlOf(0), { path: '/readyz' })).body
    expect(ready).to.include({ status: 'ready' })
    expect(ready.database).to.include({ name: database.url.split(/[/?]/)[3], durability: 'local' })
    expect(ready.database.server).to.match(/^PostgreSQL \d+/)
    const { text } = await send(urlOf(0), { path: '/metrics' })
    expect(text).to.match(/^thermolog_last_measurement_timestamp_seconds \d/m)
    expect(text).not.to.match(/^thermolog_(last_backup|ledger_memory)/m)
    expect(text).to.contain(`thermolog_process_info{process="${ready.database.process}",`)
    expect(text).to.match(/^thermolog_database_warnings \d+$/m)
  })

  it('are looked after by commands that work on the database', async () => {
    const environment = { DATABASE_URL: database.url }
    const checked = await runCommand('nowhere', ['database', 'check'], environment)
    expect(checked.exitCode, checked.stderr).to.equal(0)
    expect(checked.stdout).to.contain('can be used')
    const users = await runCommand('nowhere', ['user', 'list', '--json'], environment)
    expect(users.stdout).to.contain(ANA)
    const sensors = await runCommand('nowhere', ['sensor', 'list', '--user', ANA], environment)
    expect(sensors.stdout).to.match(/^\d+ .* -?\d+\.\d\d +(online|silent) +\d{4}-.* \d\d:\d\d$/m)
    const backup = await runCommand('nowhere', ['backup', 'x.tar'], environment)
    expect(backup.exitCode).to.equal(2)
    expect(backup.stderr).to.contain('pg_dump')
  })

  async function sensorsAt(at: number, token: string): Promise<{ id: number; sn: string }[]> {
    const { body } = await send(urlOf(at), { path: '/api/v1/sensors', token })
    return body.data
  }
})

describe('DATABASE_URL', () => {
  it('is checked before anything is opened', async () => {
    const environment = { DATABASE_URL: 'postgresql://u:secret@127.0.0.1:1/none' }
    const served = await runProcess('nowhere', ['serve'], environment)
    expect(served.exitCode).to.equal(1)
    expect(served.stderr).to.contain('DATABASE_URL').and.not.to.contain('secret')
    const wrong = await runProcess('nowhere', ['serve'], { DATABASE_URL: 'mysql://u:secret@x/y' })
    expect(wrong.stderr).to.contain('must be like postgresql:').and.not.to.contain('secret')
  })
})

describe('a service on PostgreSQL', () => {
  const postgres = usePostgres()

  it('exits 1 where the server is away, and 2 where it has no such database', async () => {
    const { url } = await newMigratedDatabase(postgres())
    const exitCodes = async (databaseUrl: string) => {
      const environment = { DATABASE_URL: databaseUrl, PORT: '0' }
      const commands = [['user', 'list'], ['serve']]
      const runs = await Promise.all(
        commands.map((args) => runCommand('nowhere', args, environment)),
      )
      for (const { stderr } of runs) expect(stderr).to.contain('DATABASE_URL cannot be used')
      return runs.map(({ exitCode }) => exitCode)
    }
    expect(await exitCodes('postgresql://u@127.0.0.1:1/none')).to.deep.equal([1, 1])
    expect(await exitCodes('postgresql:///none?host=/nowhere&user=u')).to.deep.equal([1, 1])
    const missing = new URL(url)
    missing.pathname = '/nowhere'
    expect(await exitCodes(missing.href)).to.deep.equal([2, 2])
  })

  it('ends if the last of what it starts with cannot be read', async () => {
    const { url } = await newMigratedDatabase(postgres())
    await runOnce(url, 'ALTER TABLE data_identity RENAME cursor_secret TO lost')
    const serving = runProcess('nowhere', ['serve'], { DATABASE_URL: url, PORT: '0' })
    const { exitCode, stderr } = await within('it ends', serving)
    expect(exitCode).to.equal(1)
    expect(stderr).to.contain('cursor_secret')
  })
})
