// Goal: a database that holds data is spread over workers with all that it holds, or not at all.
// Method: the real service fills a database on one server, to which each test gives workers; what
// it answers before and after is compared, and locks hold the command where it is to be killed.

import { randomUUID } from 'node:crypto'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import pg from 'pg'
import { mintToken } from '../../src/access/tokens.ts'
import { createService } from '../../src/compose.ts'
import { loadConfig } from '../../src/config.ts'
import { openOperations } from '../../src/data-dir/operations.ts'
import { systemClock } from '../../src/system/clock.ts'
import { DAY_MS } from '../../src/domain/time.ts'
import { accept, measurement, PERMISSIVE, submission } from '../contract/open-data.ts'
import { useCitusCluster } from '../support/citus.ts'
import { runCommand, startCommand } from '../support/command.ts'
import type { CommandResult } from '../support/command.ts'
import { send, sendBatch, sendBatches } from '../support/http.ts'
import { ask } from '../support/lanes.ts'
import { listAll } from '../support/list-all.ts'
import { countLockWaits } from '../support/lock-waits.ts'
import { RecordingLog } from '../support/log.ts'
import { openProcess } from '../support/postgres-process.ts'
import { runOnce } from '../support/postgres.ts'
import { until } from '../support/until.ts'
import { expectClean } from '../support/verify.ts'

const USERS = ['ana', 'ben', 'cyd', 'dea'].map((name) => `${name}@example.org`)
const DELETED = 'gus@example.org'
const WEEKS = [Date.UTC(2026, 0, 5), Date.UTC(2026, 2, 9), Date.UTC(2026, 5, 15)]
const RANGE = 'from=2026-01-01T00:00:00Z&to=2026-07-01T00:00:00Z'
const SENT_AT_ONCE = 60
/** At one millisecond. */
const TIES = 3
/** The last one of each user is deleted. */
const SENSORS = ['CELLAR', 'ATTIC', 'GONE']
const FILLED = 'filled'

/** Different ones in every week, some of them at one time. */
function measurementsOf(sn: string) {
  return WEEKS.flatMap((startMs) =>
    Array.from({ length: SENT_AT_ONCE }, (_, at) => {
      const timestamp = new Date(startMs + Math.max(0, at - TIES + 1) * 60_000).toISOString()
      return { event_id: `${sn}/${startMs}/${at}`, sn, temp: at / 4, timestamp }
    }),
  )
}
function rawWeekOf(startMs: number): string {
  const [from, to] = [startMs, startMs + 7 * DAY_MS].map((ms) => new Date(ms).toISOString())
  return `bucket=raw&from=${from}&to=${to}`
}

const ALL_SENT = SENSORS.flatMap(measurementsOf)
const KEPT_SENT = SENSORS.slice(0, -1).flatMap(measurementsOf)

/** Alone on its day. */
const ASIDE_MS = (WEEKS[1] ?? 0) + 2 * DAY_MS
const ASIDE = {
  event_id: 'aside',
  sn: 'ATTIC',
  temp: 99,
  timestamp: new Date(ASIDE_MS).toISOString(),
}
/** As if the store had not taken it. */
const SET_ASIDE = `
  INSERT INTO set_aside (shard, user_id, sensor_id, measured_at_ms, tie_break_ns, temp_celsius,
    reason, set_aside_at_ms)
  SELECT 0, s.user_id, s.id, m.at_ms, m.tie_break_ns, m.temp_celsius, 'too warm', 1
  FROM measurements AS m JOIN sensors AS s ON s.id = m.sensor_id WHERE m.at_ms = ${ASIDE_MS};
  DELETE FROM measurements WHERE at_ms = ${ASIDE_MS};
  DELETE FROM measurements_hour WHERE at_ms = ${ASIDE_MS};
  DELETE FROM measurements_day WHERE at_ms = ${ASIDE_MS};`
const UNFORWARDED =
  'SELECT FROM streams JOIN stream_forwarded USING (shard, stream_id) WHERE head > seq'
/** What is left of tables on the coordinator. */
const LOCAL_BYTES = 'SELECT sum(pg_relation_size(logicalrelid)) AS bytes FROM pg_dist_partition'
const ROWS_OF_WORKERS = `
  SELECT nodeport AS port, sum(result::int) AS rows
  FROM run_command_on_shards('ledger', 'SELECT count(*) FROM %s')
  JOIN pg_dist_shard_placement USING (shardid) GROUP BY nodeport`
const TABLES = `SELECT FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`
/** Statements of the command that wait, in this order. */
const HELD = [
  'measurements IN ACCESS SHARE MODE',
  'journal IN ROW EXCLUSIVE MODE',
  'store_life IN ROW EXCLUSIVE MODE',
  'store_life IN ACCESS SHARE MODE',
]

describe('spreading tables that hold data over workers', () => {
  const citus = useCitusCluster()
  const tokens = new Map<string, string>()
  const phones = new Map<string, string>()
  let answered: unknown
  let listed: unknown[]
  let name: string
  let url: string

  before(async () => {
    await runOnce(citus().url('postgres'), `CREATE DATABASE ${FILLED}`)
    url = citus().url(FILLED)
    await serving(fill)
    await runOnce(url, SET_ASIDE)
    answered = await serving(readAll)
    listed = await listAll(settings(), USERS)
    await expectClean('nowhere', settings())
  })
  beforeEach(async () => {
    name = `spread_${randomUUID().replaceAll('-', '')}`
    await runOnce(citus().url('postgres'), `CREATE DATABASE ${name} TEMPLATE ${FILLED}`)
    url = citus().url(name)
    await citus().makeCoordinator(name)
    await citus().addWorkers(name)
  })
  afterEach(() => citus().dropDatabase(name))

  const settings = () => ({ DATABASE_URL: url })
  const migrate = () => runCommand('nowhere', ['database', 'migrate'], settings())
  const serving = async <Result>(work: (at: string) => Promise<Result>) => {
    const config = loadConfig({ PORT: '0', ...settings() })
    const service = await createService(config, { clock: systemClock, log: new RecordingLog() })
    const { url: at } = await service.start()
    try {
      const result = await work(at)
      await until('all is stored', async () => (await runOnce(url, UNFORWARDED)).length === 0)
      return result
    } finally {
      await service.stop()
    }
  }

  async function fill(at: string): Promise<void> {
    const { operations, close } = await openOperations(loadConfig(settings()))
    for (const email of [...USERS, DELETED]) {
      await operations.createUser({ email })
      const { token } = await operations.createToken({ user: email, name: 'gateway' })
      tokens.set(email, token)
      const phone = mintToken('mobile')
      phones.set(email, phone.text)
      await ask(
        url,
        `INSERT INTO access_tokens (user_id, kind, name, rights, hash, created_at_ms)
         SELECT id, 'mobile', 'phone', 'sensors:read', $1, $2 FROM users WHERE email = $3`,
        phone.hash,
        Date.now(),
        email,
      )
      await sendBatches(at, token, [...ALL_SENT, ASIDE])
      const invalid = { measurements: [{ sn: 'CELLAR', temp: 'warm' }] }
      const path = '/api/v1/measurements/batch?on_invalid=skip'
      await send(at, { method: 'POST', path, token, body: invalid })
      const { body } = await send(at, { path: '/api/v1/sensors', token })
      const gone = (body.data as { id: number; sn: string }[]).find(({ sn }) => sn === 'GONE')
      await send(at, { method: 'DELETE', path: `/api/v1/sensors/${gone?.id}`, token })
    }
    await operations.deleteUser({ user: DELETED })
    await close()
  }

  async function readAll(at: string): Promise<unknown> {
    const read = USERS.map(async (email) => {
      const token = tokens.get(email) ?? ''
      const { body } = await send(at, { path: '/api/v1/sensors', token })
      const histories = (body.data as { id: number }[]).flatMap(({ id }) =>
        [...WEEKS.map(rawWeekOf), `bucket=hour&${RANGE}`, `bucket=day&${RANGE}`].map(async (of) => {
          const path = `/api/v1/sensors/${id}/measurements?${of}`
          const { status, body: history } = await send(at, { path, token })
          expect(status).to.equal(200)
          return history
        }),
      )
      const phone = phones.get(email) ?? ''
      const dashboard = await send(at, { path: '/api/mobile/v1/dashboard', token: phone })
      return [body, dashboard.body, ...(await Promise.all(histories))]
    })
    return await Promise.all(read)
  }

  it('takes everything along, once', async () => {
    expectSpread(await migrate())
    await expectWhole()
    const again = await migrate()
    expect(again.stdout, again.stderr).to.equal('the schema is up to date\n')
  })

  it('changes nothing when it is killed, and begins anew', async () => {
    for (const [at, held] of HELD.entries()) {
      await whileItWaits(held, async ({ child, exited }) => {
        if (at % 2 === 0) child.kill('SIGKILL')
        else await runOnce(url, endOf("application_name = 'thermolog'"))
        expect(await exited).not.to.equal(0)
      })
      await expectUnspread()
    }
    expectSpread(await migrate())
    await expectSame()
  })

  it('changes nothing when the coordinator is killed between the workers', async () => {
    const [worker] = citus().workers
    const last = HELD.at(-1) ?? ''
    try {
      const { exited } = await whileItWaits(last, () => Promise.resolve(worker?.freeze()))
      const isPrepared = async () => {
        const [other] = citus().workers.slice(1)
        const sql = `SELECT FROM pg_prepared_xacts WHERE database = '${name}'`
        return (await runOnce(other?.url() ?? '', sql)).length > 0
      }
      await until('the other worker has prepared it', isPrepared)
      await citus().coordinator.kill()
      expect(await exited).to.equal(1)
    } finally {
      worker?.thaw()
      await citus().coordinator.restart()
    }
    await until('the workers have forgotten it', isUnspread)
    expectSpread(await migrate())
    await expectSame()
  })

  it('waits for processes to be stopped, and for what they have not stored', async () => {
    await serving(async () => {
      const { exitCode, stderr } = await migrate()
      expect(exitCode).to.equal(1)
      expect(stderr).to.contain(
        'the tables cannot be spread over the workers: processes work on the database\n' +
          'Stop them, and run it again.',
      )
    })
    const unforwarding = await openProcess(url, PERMISSIVE)
    await accept(
      unforwarding,
      submission(1, measurement({ eventId: 'late', serialNumber: 'CELLAR' })),
    )
    await unforwarding.close()
    const { exitCode, stderr } = await migrate()
    expect(exitCode).to.equal(1)
    expect(stderr).to.contain(
      'the tables cannot be spread over the workers: accepted measurements are not in the store ' +
        'yet\nRun the service until they are, and stop it.',
    )
    await expectUnspread()
    await serving(() => Promise.resolve())
    expectSpread(await migrate())
    await expectClean('nowhere', settings())
  })

  function expectSpread({ exitCode, stdout, stderr }: CommandResult): void {
    expect(exitCode, stderr).to.equal(0)
    expect(stdout).to.equal('the tables are spread over the workers of Citus now\n')
  }

  async function expectSame(): Promise<void> {
    expect(await listAll(settings(), USERS)).to.deep.equal(listed)
    await expectClean('nowhere', settings())
  }

  async function expectWhole(): Promise<void> {
    await expectSame()
    const { operations, close } = await openOperations(loadConfig(settings()))
    await serving(async (at) => {
      expect(await readAll(at)).to.deep.equal(answered)
      await Promise.all(USERS.map((user) => sendMore(at, tokens.get(user) ?? '')))
      const { count } = await operations.retrySetAside({})
      expect(count).to.equal(USERS.length)
    })
    await close()
    await expectClean('nowhere', settings())
    const [sizes] = await runOnce(url, LOCAL_BYTES)
    expect(sizes?.['bytes']).to.equal('0')
    for (const { port, rows } of await runOnce(url, ROWS_OF_WORKERS)) {
      expect(Number(rows), `at port ${port}`).to.be.greaterThan(0)
    }
  }

  async function sendMore(at: string, token: string): Promise<void> {
    const tie = KEPT_SENT.slice(0, 1).map((one) => ({ ...one, event_id: 'new', temp: -1 }))
    const other = KEPT_SENT.slice(1, 2).map((one) => ({ ...one, temp: -1 }))
    const registering = [{ event_id: 'first', sn: 'NEW', temp: 3 }]
    const sent = [...KEPT_SENT, ...tie, ...other, ...registering]
    const { body, text: said } = await sendBatch(at, token, sent)
    const counts = { created: 2, duplicates: KEPT_SENT.length, conflicts: 1 }
    expect(body.data, said).to.include(counts)
  }

  async function isUnspread(): Promise<boolean> {
    const [spread] = await runOnce(url, 'SELECT count(*)::int AS tables FROM pg_dist_partition')
    const places = citus().workers.map((worker) => runOnce(worker.url(name), TABLES))
    const left = (await Promise.all(places)).flat()
    return spread?.['tables'] === 0 && left.length === 0
  }

  async function expectUnspread(): Promise<void> {
    await until('its connections have ended', async () => {
      const others = `application_name = 'thermolog' AND datname = '${name}'`
      return (await runOnce(url, `SELECT FROM pg_stat_activity WHERE ${others}`)).length === 0
    })
    expect(await isUnspread()).to.equal(true)
  }

  /** Starts the command, and does something as soon as the lock of a table holds it up. */
  async function whileItWaits(held: string, work: (waiting: Waiting) => Promise<void>) {
    const holding = new pg.Client({ connectionString: url })
    holding.on('error', () => undefined)
    await holding.connect()
    await holding.query('BEGIN')
    await holding.query(`LOCK TABLE ${held}`)
    const child = startCommand('nowhere', ['database', 'migrate'], settings())
    const exited = once(child, 'exit').then(([exitCode]) => exitCode as number | null)
    const said = text(child.stderr)
    await until(`it waits for ${held}`, async () => {
      if (child.exitCode !== null) throw new Error(`it has ended: ${await said}`)
      return (await countLockWaits(url)) > 0
    })
    const waiting = { child, exited }
    await work(waiting)
    await holding.end()
    return waiting
  }
})

interface Waiting {
  readonly child: ChildProcess
  readonly exited: Promise<number | null>
}

const endOf = (which: string) =>
  `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
   WHERE ${which} AND datname = current_database() AND pid <> pg_backend_pid()`
