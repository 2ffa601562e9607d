// Goal: a backup brings back everything, never takes the place of anything, and an id that was
// given out after it is not given again. Method: the real commands and the real service on
// directories of their own; what an export shows before is held against what it shows after.

import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { InfluxMeasurementReader } from '../../src/influx/measurement-reader.ts'
import { archiveOf, pagesOf } from '../support/archive-of.ts'
import { runCommand, servingHere } from '../support/command.ts'
import type { Environment } from '../support/command.ts'
import { expectedLines, readings, sendReadings } from '../support/exported.ts'
import { createFleetToken } from '../support/fleet-token.ts'
import { send } from '../support/http.ts'
import { connect, influxSettings, newBucket, useInflux, writeLines } from '../support/influx.ts'
import { collect } from '../support/measurements.ts'

const USER = 'fleet@example.org'

/** @returns the token with which the readings were sent */
async function fill(dataDir: string, settings: Environment = {}): Promise<string> {
  const token = await createFleetToken(dataDir, USER, settings)
  await servingHere(dataDir, settings, (url) => sendReadings(url, token))
  return token
}

/** @returns what the service says of all that it has been sent before */
async function resend(url: string, token: string) {
  const path = '/api/v1/measurements/batch'
  const answer = await send(url, {
    method: 'POST',
    path,
    token,
    body: { measurements: readings() },
  })
  return {
    status: answer.status,
    ...(answer.body.data as { created: number; duplicates: number }),
  }
}

describe('thermolog backup and restore', () => {
  let folder: string
  let shared: string
  /** A DATA_DIR with the readings, and a backup of it. */
  let filled: string
  let backedUp: string
  let token: string
  before(async () => {
    shared = await mkdtemp(join(tmpdir(), 'thermolog-filled-'))
    filled = join(shared, 'data')
    backedUp = join(shared, 'backup')
    token = await fill(filled)
    const { exitCode, stderr } = await runCommand(filled, ['backup', backedUp])
    expect(exitCode, stderr).to.equal(0)
  })
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-backup-'))
  })
  afterEach(() => rm(folder, { recursive: true }))
  after(() => rm(shared, { recursive: true }))

  const at = (name: string) => join(folder, name)
  const run = (dataDir: string, args: readonly string[], settings: Environment = {}) =>
    runCommand(at(dataDir), args, settings)
  const mustRun = async (dataDir: string, args: readonly string[], settings: Environment = {}) => {
    const result = await run(dataDir, args, settings)
    expect(result.exitCode, result.stderr).to.equal(0)
    return result
  }
  const exported = async (dataDir: string, settings: Environment = {}) => {
    const { stdout } = await mustRun(dataDir, ['export', '--user', USER], settings)
    return stdout.trim().split('\r\n').slice(1)
  }

  const copyFilled = () => cp(filled, at('old'), { recursive: true })

  it('brings back every measurement, and knows every event', async () => {
    await copyFilled()
    const { stdout } = await mustRun('old', ['backup', at('backup')])
    expect(stdout).to.match(/written and verified/)
    expect((await stat(at('backup'))).mode & 0o777).to.equal(0o600)
    const restored = await mustRun('new', ['restore', at('backup')])
    expect(restored.stderr).to.match(/even if revoked since \(1 in all; --revoke-tokens/)
    expect(await exported('new')).to.deep.equal(expectedLines())
    await servingHere(at('new'), {}, async (url) => {
      const { status, created, duplicates } = await resend(url, token)
      expect({ status, created, duplicates }).to.deep.equal({
        status: 200,
        created: 0,
        duplicates: readings().length,
      })
    })
    expect(await exported('new')).to.deep.equal(expectedLines())
    // A backup of what was restored is restored as well.
    await mustRun('new', ['backup', at('second')])
    await mustRun('newer', ['restore', at('second')])
    expect(await exported('newer')).to.deep.equal(expectedLines())
  })

  /** Makes a user, a sensor and a token. @returns their ids */
  const newIds = async (dataDir: string, settings: Environment = {}) => {
    const email = 'second@example.org'
    const made = async (...args: string[]) => {
      const { stdout } = await mustRun(dataDir, [...args, '--json'], settings)
      return (JSON.parse(stdout) as { id: number }).id
    }
    const user = await made('user', 'create', '--email', email)
    const sensor = await made('sensor', 'create', '--sn', 'next', '--user', email)
    const ofToken = await made('token', 'create', '--name', 'next', '--user', email)
    return { user, sensor, token: ofToken }
  }

  it('never gives an id again that was given after the backup', async () => {
    await copyFilled()
    await mustRun('new', ['restore', backedUp])
    const [old, restored] = [await newIds('old'), await newIds('new')]
    for (const what of ['user', 'sensor', 'token'] as const) {
      expect(restored[what])
        .to.be.a('number')
        .greaterThan(1_000_000 + old[what])
    }
  })

  it('tells senders that the data are others, and up to when they are whole', async () => {
    await copyFilled()
    const storeOf = (dataDir: string) =>
      servingHere(at(dataDir), {}, async (url) => {
        const { body } = await send(url, { path: '/api/v1/me', token })
        return body.data.store as { id: string; restored_to: string | null }
      })
    const old = await storeOf('old')
    expect(old.restored_to).to.equal(null)
    const beganAtMs = Date.now()
    await mustRun('old', ['backup', at('backup')])
    const endedAtMs = Date.now()
    expect(await storeOf('old')).to.deep.equal(old)
    await mustRun('new', ['restore', at('backup')])
    await mustRun('other', ['restore', at('backup')])
    const restored = await storeOf('new')
    expect(Date.parse(restored.restored_to ?? '')).to.be.within(beganAtMs, endedAtMs)
    expect(await storeOf('new')).to.deep.equal(restored)
    const ids = [old.id, restored.id, (await storeOf('other')).id]
    expect(new Set(ids).size).to.equal(3)
  })

  it('ends all sign-in links, and all tokens when it is told to', async () => {
    await copyFilled()
    const { stdout: link } = await mustRun('old', ['user', 'link', USER])
    await mustRun('old', ['backup', at('backup')])
    const { stderr } = await mustRun('new', ['restore', at('backup'), '--revoke-tokens'])
    expect(stderr).to.equal('')
    await servingHere(at('new'), {}, async (url) => {
      expect((await send(url, { path: '/api/v1/me', token })).status).to.equal(401)
      const body = { code: link.trim().split('/').at(-1), code_verifier: 'v'.repeat(43) }
      const path = '/api/mobile/v1/auth/link'
      expect((await send(url, { method: 'POST', path, body })).status).to.equal(400)
    })
  })

  it('never takes the place of a file or of data', async () => {
    await copyFilled()
    await writeFile(at('taken'), 'mine')
    const backup = await run('old', ['backup', at('taken')])
    expect(backup.stderr).to.match(/taken already exists, and a backup never overwrites/)
    expect(backup.exitCode).to.equal(1)
    expect(await readFile(at('taken'), 'utf8')).to.equal('mine')

    const before = await exported('old')
    const restore = await run('old', ['restore', backedUp])
    expect(restore.stderr).to.match(/not empty .* a restore never overwrites data/)
    expect(restore.exitCode).to.equal(1)
    expect(await exported('old')).to.deep.equal(before)
    const left = (await readdir(folder)).toSorted()
    expect(left).to.deep.equal(['old', 'taken'])
  })

  it('refuses a damaged backup, and leaves nothing of it', async () => {
    const bytes = await readFile(backedUp)
    const middle = bytes.length >> 1
    bytes[middle] = (bytes[middle] ?? 0) ^ 1
    await writeFile(at('damaged'), bytes)
    await writeFile(at('short'), bytes.subarray(0, middle))
    await writeFile(at('other'), 'no backup')
    for (const file of ['damaged', 'short', 'other']) {
      const { exitCode, stderr } = await run('new', ['restore', at(file)])
      expect(stderr).to.match(/is not a backup/)
      expect(exitCode).to.equal(1)
      expect(await readdir(at('new'))).to.deep.equal([])
    }
    expect((await run('new', ['restore', at('missing')])).stderr).to.match(/no file/)
    // What can be read only once.
    expect((await run('new', ['restore', '/dev/null'])).stderr).to.match(/is no file: store/)
  })

  describe('of a file that only looks like a backup', () => {
    const manifest = (members: object) => {
      const files = { 'control.db': {}, 'ledger.db': {}, 'measurements.db': {} }
      const whole = { format: 'thermolog-backup-2', thermolog: '1', taken_at: 'now', files }
      return JSON.stringify({ ...whole, store: 'embedded', ...members })
    }
    const manifests: Readonly<Record<string, string | Buffer>> = {
      'has null for its manifest': 'null',
      'has a list for its manifest': '[]',
      'has no JSON for its manifest': 'format: thermolog',
      'has a manifest of megabytes': Buffer.alloc(3 * 1024 * 1024, ' '),
      'has a manifest of another form': manifest({ format: null }),
      'names no files': manifest({ files: null }),
      'names other files': manifest({ files: { '../../control.db': {}, '\u001b[2J': {} } }),
      'counts nothing in its files': manifest({ files: { 'control.db': null } }),
      'has a number for its store': manifest({ store: 7 }),
      'has not the files that its manifest names': manifest({}),
    }
    for (const [what, content] of Object.entries(manifests)) {
      it(`names it and leaves nothing: it ${what}`, async () => {
        await writeFile(at('forged'), archiveOf([{ name: 'manifest.json', content }]))
        await expectRefusal()
      })
    }

    it('names it and leaves nothing: its files are no files of SQLite', async () => {
      const names = ['control.db', 'ledger.db', 'measurements.db']
      const content = pagesOf(Buffer.alloc(20_480, 'no database'), 4_096)
      const files = names.map((name) => ({ name, content }))
      const described = { name: 'manifest.json', content: manifest({}) }
      await writeFile(at('forged'), archiveOf([...files, described]))
      await expectRefusal()
    })

    it('names it and leaves nothing: it has no manifest', async () => {
      await writeFile(at('forged'), archiveOf([{ name: 'control.db', content: 'x' }]))
      await expectRefusal()
    })

    async function expectRefusal(): Promise<void> {
      const { exitCode, stdout, stderr } = await run('new', ['restore', at('forged')])
      expect(stderr).to.include(at('forged'))
      // Nothing of the archive that a terminal would act on; lines of ours.
      const lines = stderr.replace(/^.*\r/s, '').split('\n')
      expect(lines.length, stderr).to.be.within(2, 3)
      for (const line of lines) expect(line).to.match(/^[ -~]*$/)
      expect(stdout).to.equal('')
      expect(exitCode).to.equal(1)
      expect(
        (await readdir(at('new'))).filter((name) => !name.startsWith('lock.db')),
      ).to.deep.equal([])
    }
  })

  it('is refused by all that works on data after a restore that was killed', async () => {
    await mkdir(at('new/restoring'), { recursive: true })
    const served = await run('new', ['serve'], { PORT: '0' })
    expect(served.stderr).to.match(/a restore into .* did not come to its end: delete/)
    expect(served.exitCode).to.equal(1)
    for (const args of [['export', '--user', USER], ['verify']]) {
      const { stderr, exitCode } = await run('new', args)
      expect([args[0], exitCode]).to.deep.equal([args[0], 1])
      expect(stderr).to.match(/did not come to its end/)
    }
    const again = await run('new', ['restore', backedUp])
    expect(again.stderr).to.match(/was interrupted/)
    expect(again.exitCode).to.equal(1)
  })

  it('says so when there is nothing to back up', async () => {
    const { exitCode, stderr } = await run('nowhere', ['backup', at('backup')])
    expect(stderr).to.match(/has no data/)
    expect(exitCode).to.equal(2)
    expect(await readdir(folder)).to.deep.equal([])
  })

  describe('with an InfluxDB that is out of reach', () => {
    /** The port discards what it gets, if anything is there. */
    const away = {
      INFLUX_URL: 'http://127.0.0.1:9',
      INFLUX_ORG: 'home',
      INFLUX_BUCKET: 'thermolog',
      INFLUX_TOKEN: 'none',
    }

    it('restores nothing while it is unknown which ids have measurements there', async () => {
      await createFleetToken(at('old'), USER, away)
      await mustRun('old', ['backup', at('backup')], away)
      const refusals = [
        { settings: {}, exitCode: 2, reason: /in another store.*: set INFLUX_URL, _ORG/s },
        {
          settings: { ...away, INFLUX_BUCKET: 'other' },
          exitCode: 2,
          reason: /another store.*bucket thermolog.*bucket other/s,
        },
        { settings: away, exitCode: 1, reason: /InfluxDB does not report.*Nothing has been/s },
      ]
      for (const { settings, exitCode, reason } of refusals) {
        const restored = await run('new', ['restore', at('backup')], settings)
        expect(restored.stderr).to.match(reason)
        expect(restored.exitCode).to.equal(exitCode)
        expect(await readdir(at('new'))).to.deep.equal([])
      }
    })
  })

  describe('with InfluxDB', () => {
    const influx = useInflux()

    it('gives no id that has measurements there', async () => {
      const target = await newBucket(influx())
      const settings = influxSettings(target)
      await createFleetToken(at('old'), USER, settings)
      await mustRun('old', ['backup', at('backup')], settings)
      await writeLines(connect(target), [
        'temperature,sensor_id=500000000,user_id=3 temp=1 1773100800000000000',
        'sensor_info,sensor_id=3,user_id=600000000 sn="a",alias="a",compensation=0 1',
      ])
      await mustRun('new', ['restore', at('backup')], settings)
      const { user, sensor } = await newIds('new', settings)
      expect(user).to.be.greaterThan(600_000_000)
      expect(sensor).to.be.within(500_000_001, 599_999_999)
    })

    it('writes to it once more what it has lost since its own, older backup', async () => {
      const target = await newBucket(influx())
      const settings = influxSettings(target)
      const sender = await fill(at('old'), settings)
      expect(await exported('old', settings)).to.deep.equal(expectedLines())
      const { stderr } = await mustRun('old', ['backup', at('backup')], settings)
      expect(stderr).to.match(/the measurements are in InfluxDB.*take that first/)
      // As after an `influx restore` of a backup from before the first measurement.
      const range = { start: '1970-01-01T00:00:00Z', stop: '2100-01-01T00:00:00Z' }
      const { organization: org, influxBucket: bucket } = target
      const path = `/api/v2/delete?${new URLSearchParams({ org, bucket }).toString()}`
      const body = JSON.stringify(range)
      const deleted = await connect(target).exchange({ method: 'POST', path, body })
      expect(deleted.status, deleted.body).to.equal(204)
      const reader = new InfluxMeasurementReader(connect(target))
      const everything = { sensorIds: [1], startMs: 0, stopMs: Date.UTC(2100, 0, 1) }
      expect(await collect(reader.readRaw(everything))).to.deep.equal([])

      await mustRun('new', ['restore', at('backup')], settings)
      await servingHere(at('new'), settings, async (url) => {
        expect(await resend(url, sender)).to.include({
          created: 0,
          duplicates: readings().length,
        })
        // Each look takes a second, and the forwarder less than that.
        for (let look = 0; look < 20; look++) {
          if ((await exported('new', settings)).length === expectedLines().length) break
        }
      })
      expect(await exported('new', settings)).to.deep.equal(expectedLines())
    })
  })
})
