// Goal: everything of a data directory is in the database after a move, once, however often that is
// killed, and only one of the two can be served. Method: the real command on a directory that the
// real service has filled; locks hold the move where it is to be killed.

import { randomUUID } from 'node:crypto'
import { copyFileSync } from 'node:fs'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import pg from 'pg'
import { loadConfig } from '../../src/config.ts'
import { moveToDatabase } from '../../src/data-dir/move-to-database.ts'
import { migrate } from '../../src/postgres/server/migrate.ts'
import { openTagged } from '../../src/sqlite/database.ts'
import { runCommand, serveHere, serving, servingHere } from '../support/command.ts'
import type { CommandResult } from '../support/command.ts'
import { damageLeaf } from '../support/damage.ts'
import { createFleetToken } from '../support/fleet-token.ts'
import {
  ANALYSED,
  cutOff,
  HELD,
  HOLD,
  killWhenItWaits,
  lockOf,
  OPENED,
  whileItWaits,
} from '../support/held-move.ts'
import { send, sendBatch } from '../support/http.ts'
import { listAll } from '../support/list-all.ts'
import { newDatabase, runOnce, usePostgres } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'
import { expectClean } from '../support/verify.ts'

const ANA = 'ana@example.org'
const BEN = 'ben@example.org'
const START_MS = Date.UTC(2026, 2, 10)
const PERIOD = 'from=2026-03-09T00:00:00Z&to=2026-03-16T00:00:00Z&bucket=raw'
const BATCH = 500
/** Milliseconds that have two measurements. */
const TIES = 1_000
/** Ids by order of registration; `GONE` is deleted before the move. */
const [CELLAR, GONE] = [1, 2]
const UNSEEN = { begin: () => undefined, advance: () => undefined }

interface Measurement {
  readonly event_id?: string
  readonly sn: string
  readonly temp: number
  readonly timestamp: string
}

function measurement(sn: string, at: number, eventId: string): Measurement {
  const timestamp = new Date(START_MS + at * 60_000).toISOString()
  return { event_id: eventId, sn, temp: (at % 400) / 8 - 25, timestamp }
}

const times = Array.from({ length: TIES }, (_, at) => at)
/** Random and made-up ids, two at each time; a batch of which the sensor goes. */
const SENT = [
  ...times.map((at) => measurement('CELLAR', at, randomUUID())),
  ...times.map((at) => measurement('CELLAR', at, `second/${at}`)),
  ...times.slice(0, BATCH).map((at) => measurement('GONE', at, `gone/${at}`)),
]

const FIRST_LINK = `INSERT INTO sign_in_links (hash, salt, created_at_ms) VALUES ('a', 'b', 1)`

const batches = (all: readonly Measurement[]) =>
  Array.from({ length: Math.ceil(all.length / BATCH) }, (_, at) =>
    all.slice(at * BATCH, (at + 1) * BATCH),
  )

describe('thermolog move', () => {
  const postgres = usePostgres()
  let filled: string
  let folder: string
  let dataDir: string
  let database: TestDatabase
  const tokens = { ana: '', ben: '' }

  before(async () => {
    filled = await mkdtemp(join(tmpdir(), 'thermolog-filled-'))
    tokens.ana = await createFleetToken(filled, ANA)
    giveOutTokenIds(filled)
    tokens.ben = await createFleetToken(filled, BEN)
    await servingHere(filled, {}, fill)
  })
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-move-'))
    dataDir = join(folder, 'data')
    await cp(filled, dataDir, { recursive: true })
    database = await newDatabase(postgres())
  })
  afterEach(async () => {
    await rm(folder, { recursive: true })
    await database.remove()
  })
  after(async () => {
    if (filled !== undefined) await rm(filled, { recursive: true })
  })

  const settings = () => ({ DATABASE_URL: database.url })
  const move = () => runCommand(dataDir, ['move', '--to', database.url])
  const held = () => ({ dataDir, databaseUrl: database.url })
  const exportOf = async (user: string, environment = {}) => {
    const { exitCode, stdout, stderr } = await runCommand(
      dataDir,
      ['export', '--user', user],
      environment,
    )
    expect(exitCode, stderr).to.equal(0)
    return stdout
  }

  it('begins again wherever it is killed, and moves everything once', async () => {
    const exported = [await exportOf(ANA), await exportOf(BEN)]
    const listed = await listAll({ DATA_DIR: dataDir }, [ANA, BEN])
    await migrate(database.url)
    await runOnce(database.url, FIRST_LINK)
    await runOnce(database.url, HOLD)
    for (const statement of HELD) await killWhenItWaits(held(), lockOf(statement))
    await killWhenItWaits(held(), ANALYSED)
    const early = await runCommand(dataDir, ['serve'], settings())
    expect(early.exitCode).to.equal(2)
    expect(early.stderr).to.contain('run `bin/thermolog move --to …` again')
    await whileItWaits(held(), lockOf('INSERT ON ledger'), async (waiting) => {
      expect(await cutOff(waiting)).to.equal(1)
      expect(await waiting.said).to.contain('Run the command again: it begins anew.')
    })
    // The server may still open the database.
    await killWhenItWaits(held(), OPENED)
    expectMoved(await move())
    expectMoved(await move())

    const closed = await runCommand(dataDir, ['serve'])
    expect(closed.exitCode).to.equal(2)
    expect(closed.stderr).to.contain('were moved to postgresql://').and.contain('DATABASE_URL')
    expect(await listAll(settings(), [ANA, BEN])).to.deep.equal(listed)
    await servingHere('nowhere', settings(), async (url) => {
      await sendAgain(url)
      await sendThirds(url)
      await registerNew(url)
    })
    const lines = (csv = '') => csv.trim().split('\r\n')
    const now = [lines(await exportOf(ANA, settings())), lines(await exportOf(BEN, settings()))]
    expect(now[1]).to.deep.equal(lines(exported[1]))
    const thirds = times.map((at) => lineOf({ ...measurement('CELLAR', at, ''), temp: 99 }))
    const isNew = (line: string) => thirds.includes(line) || line.includes('NEW')
    expect(now[0]?.filter((line) => !isNew(line))).to.deep.equal(lines(exported[0]))
    expect(now[0]).to.include.members(thirds)
    expect(await expectClean('nowhere', settings())).to.be.greaterThan(3 * TIES)
  })

  it('begins again when the directory was served meanwhile', async () => {
    await migrate(database.url)
    await killWhenItWaits(held(), ANALYSED)
    const late = measurement('CELLAR', 5_000, 'late')
    await servingHere(dataDir, {}, async (url) => {
      expect((await sendBatch(url, tokens.ana, [late])).status).to.equal(201)
      await send(url, {
        method: 'DELETE',
        path: `/api/v1/sensors/${CELLAR + 2}`,
        token: tokens.ben,
      })
    })
    const exported = await exportOf(ANA)
    expect(exported).to.contain(lineOf(late))
    expectMoved(await move())
    expect(await exportOf(ANA, settings())).to.equal(exported)
    await servingHere('nowhere', settings(), async (url) => {
      expect((await sendBatch(url, tokens.ana, [late])).body.data.duplicates).to.equal(1)
    })
    await expectClean('nowhere', settings())
  })

  it('refuses a database that is in use, has data, or is out of reach', async () => {
    await serving(dataDir, {}, async () => {
      const served = await move()
      expect(served.exitCode, served.stderr).to.equal(1)
      expect(served.stderr).to.match(/is in use by another.*\nStop the service until the move/)
    })
    const named = new URL(database.url)
    named.searchParams.set('application_name', 'house')
    const used = await serveHere('nowhere', { DATABASE_URL: named.href })
    const inUse = await move()
    expect(inUse.exitCode, inUse.stderr).to.equal(2)
    expect(inUse.stderr).to.contain('processes work on the database')
    await used.stop()
    await createFleetToken('nowhere', ANA, settings())
    const hasData = await move()
    expect(hasData.exitCode).to.equal(2)
    expect(hasData.stderr).to.contain('has data already')
    // Whoever finishes this would take the moved user for the deleted one.
    const emptied = await newDatabase(postgres())
    const there = { DATABASE_URL: emptied.url }
    await runCommand('nowhere', ['database', 'migrate'], there)
    await runCommand('nowhere', ['user', 'create', '--email', ANA], there)
    await runCommand('nowhere', ['user', 'delete', '--yes', ANA], there)
    const toBeDeleted = await runCommand(dataDir, ['move', '--to', emptied.url])
    expect(toBeDeleted.exitCode, toBeDeleted.stderr).to.equal(2)
    expect(toBeDeleted.stderr).to.contain('has data already')
    await emptied.remove()
    expect((await runCommand('nowhere', ['user', 'list'], settings())).stdout).to.contain(ANA)
    const away = 'postgresql://u:secret@127.0.0.1:1/none'
    const unreachable = await runCommand(dataDir, ['move', '--to', away])
    expect(unreachable.exitCode).to.equal(1)
    expect(unreachable.stderr).to.contain('ECONNREFUSED').and.not.to.contain('secret')
  })

  it('is the only one, and of these data', async () => {
    await migrate(database.url)
    await runOnce(database.url, HOLD)
    const other = join(folder, 'other')
    await cp(filled, other, { recursive: true })
    await whileItWaits(held(), lockOf('INSERT ON ledger'), async ({ child, exited }) => {
      const second = await runCommand(other, ['move', '--to', database.url])
      expect(second.exitCode).to.equal(2)
      expect(second.stderr).to.contain('processes work on the database')
      child.kill('SIGKILL')
      await exited
    })
    const control = openTagged(join(other, 'control.db'))
    control.exec(`UPDATE data_identity SET id = 'another'`)
    control.close()
    const others = await runCommand(other, ['move', '--to', database.url])
    expect(others.exitCode).to.equal(2)
    expect(others.stderr).to.contain('other data are being moved into it')
    expectMoved(await move())
  })

  it('opens no database but the one that has everything', async () => {
    await migrate(database.url)
    await runOnce(database.url, HOLD)
    await killWhenItWaits(held(), ANALYSED)
    await whileItWaits(held(), OPENED, async (waiting) => void (await cutOff(waiting)))
    const copy = join(folder, 'copy')
    await cp(filled, copy, { recursive: true })
    await killWhenItWaits({ ...held(), dataDir: copy }, lockOf('INSERT ON ledger'))
    const emptied = await move()
    expect(emptied.exitCode).to.equal(2)
    expect(emptied.stderr).to.contain('its data were moved to')
    const other = await newDatabase(postgres())
    const to = (url: string) => runCommand(copy, ['move', '--to', url])
    expectMoved(await to(other.url))
    const left = await to(database.url)
    expect(left.exitCode).to.equal(2)
    expect(left.stderr).to.contain(`its data were moved to ${other.url}`)
    await other.remove()
  })

  it('takes along what is rare, and keeps the directory when it is damaged', async () => {
    const control = openTagged(join(dataDir, 'control.db'))
    control.exec(`
      INSERT INTO identities VALUES ('https://i.example.org', 'ana-1', 1, 5);
      INSERT INTO sign_in_links VALUES (x'0a', 1, x'0b', 5, 6, 7);
      INSERT INTO skipped_series VALUES (1, x'00ff', x'612c62', 3, 7), (1, x'01', x'65', 1, 8);
      UPDATE access_tokens SET has_stored_lines = 1 WHERE user_id = 1;
      INSERT INTO set_aside VALUES (9, 2, 3, ${START_MS}, 0, 1.5, 'too warm' || char(0), 11);
      UPDATE data_identity SET restored_to_ms = 12;
    `)
    const storeId = control.prepare<[], string>('SELECT id FROM data_identity').pluck().get()
    control.close()
    const to = { url: database.url, durability: 'local' } as const
    const measurements = join(dataDir, 'measurements.db')
    const whole = join(folder, 'whole')
    const moveHere = (begin: (what: string) => void) =>
      moveToDatabase(loadConfig({ DATA_DIR: dataDir }), to, { ...UNSEEN, begin })
    const damaging = moveHere((what) => {
      if (what !== 'moving users') return
      copyFileSync(measurements, whole)
      damageLeaf(measurements, 'measurements', 2)
    })
    const failure = await damaging.then(String, (error: Error) => error.message)
    expect(failure).to.contain('measurements.db is damaged')
    copyFileSync(whole, measurements)
    await moveHere(() => undefined)
    const client = await connect()
    const found = async (statement: string) => (await client.query(statement)).rows
    expect(await found('SELECT * FROM identities')).to.deep.equal([
      { issuer: 'https://i.example.org', subject: 'ana-1', user_id: 1, created_at_ms: '5' },
    ])
    expect(
      await found(`SELECT encode(series_hash, 'hex') AS hash, encode(line, 'escape') AS line,
        count::int FROM skipped_series ORDER BY series_hash`),
    ).to.deep.equal([
      { hash: '00ff', line: 'a,b', count: 3 },
      { hash: '01', line: 'e', count: 1 },
    ])
    expect(await found('SELECT id FROM access_tokens WHERE has_stored_lines')).to.deep.equal([
      { id: '1' },
    ])
    expect(
      await found('SELECT id::int, sensor_id, temp_celsius, reason FROM set_aside'),
    ).to.deep.equal([{ id: 9, sensor_id: 3, temp_celsius: 1.5, reason: 'too warm\ufffd' }])
    expect(
      await found(`SELECT user_id, used_at_ms::int, nextval('set_aside_id_seq')::int AS next_id
        FROM sign_in_links WHERE hash = '\\x0a' AND salt = '\\x0b'`),
    ).to.deep.equal([{ user_id: 1, used_at_ms: 7, next_id: 10 }])
    expect(await found('SELECT id, restored_to_ms::int FROM data_identity')).to.deep.equal([
      { id: storeId, restored_to_ms: 12 },
    ])
    await client.end()
  })

  it('keeps the directory when the two sides differ', async () => {
    await migrate(database.url)
    const refused = await whileItWaits(held(), ANALYSED, async ({ watching }) => {
      await watching.query(`DELETE FROM measurements WHERE at_ms = ${START_MS}`)
    })
    expect(await refused.exited).to.equal(1)
    expect(await refused.said)
      .to.contain('measurements: 2003 rows here, 1999 in the database')
      .and.match(/sensor 1, 2026-03-10: 2\d* here, 1\d* in the database/)
    await servingHere(dataDir, {}, () => Promise.resolve())
  })

  async function connect(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    return client
  }

  function expectMoved({ exitCode, stdout, stderr }: CommandResult): void {
    expect(exitCode, stderr).to.equal(0)
    expect(stdout).to.contain('set DATABASE_URL to it; DATA_DIR is closed')
  }

  async function fill(url: string): Promise<void> {
    for (const batch of batches(SENT)) {
      expect((await sendBatch(url, tokens.ana, batch)).status).to.equal(201)
    }
    const nameless = { sn: 'attic', temp: 1, timestamp: new Date(START_MS).toISOString() }
    const bens = [nameless, nameless, measurement('CELLAR', 1, 'second/1')]
    expect((await sendBatch(url, tokens.ben, bens)).status).to.equal(201)
    const body = { alias: 'Cellar "2" ü', compensation: -0.4 }
    const sensor = { path: `/api/v1/sensors/${CELLAR}`, token: tokens.ana }
    expect((await send(url, { method: 'PATCH', ...sensor, body })).status).to.equal(200)
    const gone = { path: `/api/v1/sensors/${GONE}`, token: tokens.ana }
    expect((await send(url, { method: 'DELETE', ...gone })).status).to.equal(204)
    const skipping = '/api/v1/measurements/batch?on_invalid=skip'
    const invalid = { measurements: [{ sn: 'CELLAR', temp: 'warm' }] }
    const refused = { method: 'POST', path: skipping, token: tokens.ana, body: invalid }
    expect((await send(url, refused)).status).to.equal(200)
  }

  /** Also what is of the deleted sensor, which stays deleted. */
  async function sendAgain(url: string): Promise<void> {
    for (const batch of batches(SENT)) {
      const { status, body } = await sendBatch(url, tokens.ana, batch)
      expect(status).to.equal(200)
      expect(body.data).to.include({ created: 0, duplicates: batch.length, conflicts: 0 })
    }
    const [first] = SENT
    const other = await sendBatch(url, tokens.ana, [{ ...first, temp: 50 }])
    expect(other.body.data.conflicts).to.equal(1)
    // An id belongs to its user.
    const bens = await sendBatch(url, tokens.ben, [measurement('CELLAR', 1, 'second/1')])
    expect(bens.body.data.duplicates).to.equal(1)
    const { body } = await send(url, { path: '/api/v1/sensors', token: tokens.ana })
    expect(body.data.map(({ sn }: { sn: string }) => sn)).to.deep.equal(['CELLAR'])
  }

  async function sendThirds(url: string): Promise<void> {
    const thirds = times.map((at) => ({ ...measurement('CELLAR', at, `third/${at}`), temp: 99 }))
    for (const batch of batches(thirds)) {
      expect((await sendBatch(url, tokens.ana, batch)).body.data.created).to.equal(batch.length)
    }
    const path = `/api/v1/sensors/${CELLAR}/measurements?${PERIOD}`
    const { body } = await send(url, { path, token: tokens.ana })
    expect(body.data.complete).to.equal(true)
    expect(body.data.points).to.have.lengthOf(3 * TIES)
  }

  async function registerNew(url: string): Promise<void> {
    const answer = await sendBatch(url, tokens.ana, [measurement('NEW', 1, 'new')])
    expect(answer.status).to.equal(201)
    const { body } = await send(url, { path: '/api/v1/sensors', token: tokens.ana })
    expect(body.data.at(-1).id).to.equal(5)
  }
})

/** As a restored backup has them. */
function giveOutTokenIds(dataDir: string): void {
  const control = openTagged(join(dataDir, 'control.db'))
  control.exec(`UPDATE sqlite_sequence SET seq = seq + 4294967296 WHERE name = 'access_tokens'`)
  control.close()
}

function lineOf({ timestamp, sn, temp }: Measurement): string {
  return `${timestamp},${sn},${temp}`
}
