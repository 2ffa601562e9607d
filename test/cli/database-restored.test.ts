// Goal: a copy that somebody has put back is told apart from the data it was copied from: senders
// hear of it, and nothing is given out twice. Method: the real service before and after, on either
// engine.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { runCommand, serveHere, servingHere } from '../support/command.ts'
import type { Environment } from '../support/command.ts'
import { createFleetToken } from '../support/fleet-token.ts'
import { send, sendBatch } from '../support/http.ts'
import { connect, influxSettings, newBucket, useInflux, writeLines } from '../support/influx.ts'
import { newDatabase, usePostgres } from '../support/postgres.ts'
import { expectClean } from '../support/verify.ts'

const EVENT = { event_id: 'e1', sn: 'cellar', temp: 11.75, timestamp: '2026-11-20T10:15:00.000Z' }
const ID_JUMP_MIN = 2 ** 20

function tellsApart(newSettings: () => Promise<Environment>): void {
  it('gives the data a new id, says up to when they are whole, and moves ids on', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'thermolog-restored-'))
    const settings = await newSettings()
    const token = await createFleetToken(dataDir, 'ana@example.org', settings)
    const sensors = { path: '/api/v1/sensors', token }
    const beforeMs = Date.now()
    const before = await servingHere(dataDir, settings, async (url) => {
      await sendBatch(url, token, [EVENT])
      const me = await send(url, { path: '/api/v1/me', token })
      return { store: me.body.data.store, listed: await send(url, sensors) }
    })
    const declared = await runCommand(dataDir, ['database', 'restored'], settings)
    expect(declared.exitCode, declared.stderr).to.equal(0)
    await servingHere(dataDir, settings, async (url) => {
      const { store } = (await send(url, { path: '/api/v1/me', token })).body.data
      expect(store.id).not.to.equal(before.store.id)
      expect(Date.parse(store.restored_to)).to.be.within(beforeMs, Date.now())
      const headers = { 'if-none-match': String(before.listed.headers.etag) }
      // A second restore of one backup would give the versions of the first one again.
      expect((await send(url, { ...sensors, headers })).status).to.equal(200)
      const other = { ...EVENT, event_id: 'e2', sn: 'attic' }
      const sent = await sendBatch(url, token, [EVENT, other])
      expect(sent.body.data).to.include({ created: 1, duplicates: 1 })
      const [one, two] = (await send(url, sensors)).body.data
      expect(two.id - one.id).to.be.greaterThan(ID_JUMP_MIN)
    })
    await expectClean(dataDir, settings)
    await rm(dataDir, { recursive: true })
  })
}

/** Whose port discards what it gets, if anything is there. */
const AWAY = {
  INFLUX_URL: 'http://127.0.0.1:9',
  INFLUX_ORG: 'home',
  INFLUX_BUCKET: 'thermolog',
  INFLUX_TOKEN: 'none',
}

describe('thermolog database restored', () => {
  describe('of a data directory', () => {
    tellsApart(async () => ({}))

    it('changes nothing while it is unknown which ids have measurements in InfluxDB', async () => {
      const dataDir = await mkdtemp(join(tmpdir(), 'thermolog-restored-'))
      const token = await createFleetToken(dataDir, 'ana@example.org', AWAY)
      const storeOf = () =>
        servingHere(dataDir, AWAY, async (url) => {
          return (await send(url, { path: '/api/v1/me', token })).body.data.store
        })
      const before = await storeOf()
      const declare = (of: Environment) => runCommand(dataDir, ['database', 'restored'], of)
      const without = await declare({})
      expect(without.stderr).to.match(/in another store.*: set INFLUX_URL, _ORG/s)
      expect(without.exitCode).to.equal(2)
      const away = await declare(AWAY)
      expect(away.stderr).to.match(/InfluxDB does not report.*Nothing has been changed/s)
      expect(away.exitCode).to.equal(1)
      expect(await storeOf()).to.deep.equal(before)
      await rm(dataDir, { recursive: true })
    })

    it('waits until no service uses it', async () => {
      const dataDir = await mkdtemp(join(tmpdir(), 'thermolog-restored-'))
      const service = await serveHere(dataDir)
      const { exitCode, stderr } = await runCommand(dataDir, ['database', 'restored'])
      expect(exitCode).to.equal(1)
      expect(stderr).to.contain('in use')
      await service.stop()
      await rm(dataDir, { recursive: true })
    })
  })

  describe('of a database', () => {
    const postgres = usePostgres()
    tellsApart(async () => ({ DATABASE_URL: (await newDatabase(postgres())).url }))
  })

  describe('of a data directory with InfluxDB', () => {
    const influx = useInflux()

    it('goes past the ids that have measurements there', async () => {
      const dataDir = await mkdtemp(join(tmpdir(), 'thermolog-restored-'))
      const target = await newBucket(influx())
      const settings = influxSettings(target)
      await createFleetToken(dataDir, 'ana@example.org', settings)
      const lines = ['temperature,sensor_id=500000000,user_id=600000000 temp=1 1773100800000000000']
      await writeLines(connect(target), lines)
      const declared = await runCommand(dataDir, ['database', 'restored'], settings)
      expect(declared.exitCode, declared.stderr).to.equal(0)
      const create = ['user', 'create', '--email', 'bo@example.org', '--json']
      const { stdout } = await runCommand(dataDir, create, settings)
      expect((JSON.parse(stdout) as { id: number }).id).to.be.greaterThan(600_000_000)
      await rm(dataDir, { recursive: true })
    })
  })
})
