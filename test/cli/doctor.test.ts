// Goal: `thermolog doctor` names first what keeps a service from working, with what to do about it,
// and finds nothing where nothing is wrong. Method: the real command on set-ups that are broken for
// real: full and read-only volumes, another owner, wrong tokens, servers that are away.

import { spawnSync } from 'node:child_process'
import { appendFile, chown, cp, mkdir, mkdtemp, open } from 'node:fs/promises'
import { rm, rmdir, symlink, writeFile } from 'node:fs/promises'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { runCommand, serving } from '../support/command.ts'
import type { Environment } from '../support/command.ts'
import { useDiskFaults } from '../support/disk-faults.ts'
import { ForgingProvider } from '../support/forging-provider.ts'
import { freePort } from '../support/free-port.ts'
import { hasInfluxd, InfluxServer } from '../support/influxd.ts'
import { leaveOut } from '../support/left-out.ts'
import { newMigratedDatabase, usePostgres } from '../support/postgres.ts'

const NOBODY = 65_534
const DAY_MS = 86_400_000
const CONTROL_GROUPS = '/sys/fs/cgroup'

interface Report {
  readonly exitCode: number
  readonly state: string
  readonly checks: readonly {
    readonly check: string
    readonly state: string
    readonly message: string
    readonly remedy: string | null
  }[]
  readonly settings: readonly {
    readonly name: string
    readonly value: string | null
    readonly source: string
  }[]
}

describe('thermolog doctor', () => {
  let folders: string
  /** What every test has a copy of: data with a user, and a backup that is noted. */
  let original: string
  let folder: string
  let dataDir: string
  let port: string

  before(async () => {
    folders = await mkdtemp(join(tmpdir(), 'thermolog-doctor-'))
    original = join(folders, 'original')
    for (const args of [
      ['user', 'create', '--email', 'a@example.org'],
      ['backup', join(folders, 'backup.tar')],
    ]) {
      const { exitCode, stderr } = await runCommand(original, args)
      expect(exitCode, stderr).to.equal(0)
    }
  })
  beforeEach(async () => {
    folder = await mkdtemp(join(folders, 'test-'))
    dataDir = join(folder, 'data')
    port = String(await freePort())
    await cp(original, dataDir, { recursive: true })
  })
  after(() => rm(folders, { recursive: true }))

  async function examine(environment: Environment = {}, where = dataDir): Promise<Report> {
    const args = ['doctor', '--json']
    const { exitCode, stdout, stderr } = await runCommand(where, args, {
      PORT: port,
      ...environment,
    })
    expect(stdout, stderr).not.to.equal('')
    return { exitCode, ...(JSON.parse(stdout) as Omit<Report, 'exitCode'>) }
  }

  /** What comes first: the only thing that is wrong. */
  function expectFirst({ exitCode, state, checks }: Report, check: string, message: RegExp): void {
    const wrong = checks.filter((each) => each.state === 'wrong')
    const all = JSON.stringify(checks, null, 2)
    expect(wrong, all).to.have.lengthOf.at.least(1)
    expect(checks[0], all).to.include({ check, state: 'wrong' })
    expect(checks[0]?.message).to.match(message)
    expect(checks[0]?.remedy?.length, all).to.be.greaterThan(10)
    expect({ exitCode, state }).to.deep.equal({ exitCode: 1, state: 'wrong' })
  }

  it('finds nothing where nothing is wrong, whether the service runs or not', async () => {
    const stopped = await examine()
    expect(stopped.exitCode, JSON.stringify(stopped.checks)).to.equal(0)
    const looked = ['clock', 'data', 'data_dir', 'disk', 'fsync', 'memory', 'port', 'settings']
    const names = (report: Report) => report.checks.map(({ check }) => check)
    expect(names(stopped)).to.include.members([...looked, 'backup'])
    expect(stopped.checks.filter(({ state }) => state === 'wrong')).to.deep.equal([])
    await serving(dataDir, { PORT: port }, async () => {
      const running = await examine()
      expect(running.exitCode, JSON.stringify(running.checks)).to.equal(0)
      expect(names(running)).to.include.members([...looked, 'service'])
    })
  })

  it('changes nothing, and makes nothing where there is nothing', async () => {
    const before = readdirSync(dataDir).toSorted()
    await examine()
    expect(readdirSync(dataDir).toSorted()).to.deep.equal(before)
    const none = join(folder, 'none')
    const report = await examine({}, none)
    expect(report.exitCode).to.equal(0)
    expect(existsSync(none)).to.equal(false)
  })

  it('tells people the same, with the remedy below what is wrong', async () => {
    const { exitCode, stdout, stderr } = await runCommand(dataDir, ['doctor'], {
      PORT: port,
      PUBLIC_URL: 'https://example.org',
      METRICS_TOKEN: 'a-secret-of-ours',
    })
    const lines = stdout.split('\n')
    expect(lines[2]).to.match(
      /^WRONG {4}proxy {5} PUBLIC_URL is https:\/\/example\.org, so a proxy/,
    )
    expect(lines[3]).to.match(/^ {9}→ set TRUST_PROXY to its address/)
    expect(stdout).to.match(/^PORT +\d+ +environment$/m)
    expect(stdout).to.match(/^METRICS_TOKEN +\(hidden\) +environment$/m)
    expect(stdout + stderr).not.to.include('a-secret')
    expect(stderr).to.equal('thermolog: 1 thing is wrong\n')
    expect(exitCode).to.equal(1)
  })

  it('says where each setting is from, and shows no secret', async () => {
    const secret = join(folder, 'token')
    await writeFile(secret, 'of-a-file\n')
    await mkdir(join(folder, 'credentials'))
    await writeFile(join(folder, 'credentials/IDP_HOME_CLIENT_SECRET'), 'of-a-credential\n')
    const report = await examine({
      OFFLINE_AFTER: '30m',
      METRICS_TOKEN_FILE: secret,
      CREDENTIALS_DIRECTORY: join(folder, 'credentials'),
      IDP_HOME_ISSUER: 'http://127.0.0.1:9',
      IDP_HOME_CLIENT_ID: 'app',
      MOBILE_REDIRECT_URIS: 'org.example.app:/callback',
    })
    const found = (name: string) => report.settings.find((setting) => setting.name === name)
    expect(found('OFFLINE_AFTER')).to.include({ value: '30m', source: 'environment' })
    expect(found('MAX_FUTURE')).to.include({ value: '5m', source: 'default' })
    expect(found('METRICS_TOKEN')).to.include({ value: null, source: secret })
    expect(found('IDP_HOME_CLIENT_SECRET')).to.include({ value: null, source: 'credential' })
    expect(JSON.stringify(report)).not.to.match(/of-a-(file|credential)/)
  })

  it('names settings that are not valid', async () => {
    const report = await examine({ MAX_FUTURE: '5 minutes' })
    expectFirst(report, 'settings', /^MAX_FUTURE must be a duration like 30s/)
  })

  it('names a port that another program has', async () => {
    const other: Server = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const taken = String((other.address() as AddressInfo).port)
    try {
      expectFirst(await examine({ PORT: taken }), 'port', /already in use, by another program/)
    } finally {
      other.close()
    }
  })

  it('names a proxy that TRUST_PROXY does not', async () => {
    const report = await examine({ PUBLIC_URL: 'https://example.org' })
    expectFirst(report, 'proxy', /TRUST_PROXY does not name it/)
  })

  it('names a proxy that is not named, though PUBLIC_URL says nothing of it', async () => {
    await serving(dataDir, { PORT: port }, async (url) => {
      await fetch(`${url}/api/v1/sensors`, { headers: { 'x-forwarded-for': '198.51.100.1' } })
      expectFirst(await examine(), 'proxy', /^Requests come through a proxy/)
    })
  })

  it('names a provider that is away', async () => {
    const report = await examine({
      IDP_HOME_ISSUER: 'http://127.0.0.1:9',
      IDP_HOME_CLIENT_ID: 'app',
      MOBILE_REDIRECT_URIS: 'org.example.app:/callback',
    })
    expectFirst(report, 'provider', /HOME at http:\/\/127\.0\.0\.1:9 cannot be used: it cannot be/)
  })

  it('names an owner who is not that of the folder', async function () {
    if (process.getuid?.() !== 0) leaveOut(this, 'a user who is nobody')
    await chown(dataDir, NOBODY, NOBODY)
    const report = await examine()
    expectFirst(report, 'data_dir', /belongs to uid 0, the folder to uid 65534$/)
    expect(report.checks[0]?.remedy).to.equal(`as root: chown -R 65534:65534 ${dataDir}`)
  })

  it('names memory that is too small for the ledger', async function () {
    const group = await makeGroup(300 * 2 ** 20)
    if (group === undefined) leaveOut(this, 'a control group')
    const program = 'echo $$ >"$0/cgroup.procs" && exec "$@"'
    const thermolog = ['bin/node', 'src/thermolog.js', 'doctor', '--json']
    try {
      const { status, stdout } = spawnSync('/bin/sh', ['-c', program, group, ...thermolog], {
        env: { PATH: process.env['PATH'], DATA_DIR: dataDir, PORT: port },
        encoding: 'utf8',
      })
      const report = JSON.parse(stdout) as Omit<Report, 'exitCode'>
      const message = /^the service needs 400\.0 MiB with 0 event ids, but the limit .* 300\.0 MiB$/
      expectFirst({ exitCode: status ?? -1, ...report }, 'memory', message)
    } finally {
      await rmdir(group)
    }
  })

  /** @returns its folder; `undefined`: none can be made here */
  async function makeGroup(bytes: number): Promise<string | undefined> {
    for (const [root, key] of [
      [CONTROL_GROUPS, 'memory.max'],
      [join(CONTROL_GROUPS, 'memory'), 'memory.limit_in_bytes'],
    ] as const) {
      const group = join(root, `thermolog-${process.pid}`)
      if (!existsSync(join(root, 'cgroup.procs'))) continue
      try {
        await mkdir(group)
        await writeFile(join(group, key), String(bytes))
        if (readFileSync(join(group, key), 'utf8').trim() === String(bytes)) return group
      } catch {
        // Not here.
      }
      if (existsSync(group)) await rmdir(group)
    }
    return undefined
  }

  it('names data that are damaged, whichever file has them', async () => {
    for (const name of ['control.db', 'ledger.db']) {
      await cp(join(original, name), join(dataDir, name))
      const file = await open(join(dataDir, name), 'r+')
      await file.write(Buffer.alloc(2_048, 0xff), 0, 2_048, 1_024)
      await file.close()
      const report = await examine()
      expect(report.exitCode).to.equal(1)
      expect(report.checks[0]).to.include({ state: 'wrong' })
      expect(report.checks[0]?.remedy).to.match(/`thermolog verify`/)
      await cp(join(original, name), join(dataDir, name))
    }
  })

  it('writes nowhere but where it may, whatever it finds in DATA_DIR', async () => {
    const precious = join(folder, 'precious')
    await writeFile(precious, 'as it was')
    await symlink(precious, join(dataDir, 'doctor-probe'))
    expect((await examine()).exitCode).to.equal(0)
    expect(readFileSync(precious, 'utf8')).to.equal('as it was')
    expect(existsSync(join(dataDir, 'doctor-probe'))).to.equal(false)
  })

  it('takes no more than it needs of an answer without end', async () => {
    const other = createHttpServer((_request, response) => {
      const more = () => {
        while (response.write(Buffer.alloc(2 ** 16, 32)));
        response.once('drain', more)
      }
      more()
    }).listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port: taken } = other.address() as AddressInfo
    try {
      // A database has the data, so whose the port is can only be asked.
      const database = 'postgresql://u@127.0.0.1:9/none'
      const report = await examine({ PORT: String(taken), DATABASE_URL: database })
      expect(report.checks.find(({ check }) => check === 'port')?.state).to.equal('wrong')
    } finally {
      other.closeAllConnections()
      other.close()
    }
  })

  describe('on a volume of its own', () => {
    let volume: string
    const mount = (options: string) =>
      spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', volume]).status

    beforeEach(async function () {
      volume = join(folder, 'volume')
      await mkdir(volume)
      if (mount('size=32m') !== 0) leaveOut(this, 'the right to mount')
      await cp(original, volume, { recursive: true })
    })
    afterEach(() => void spawnSync('umount', [volume]))

    it('names one that is full', async () => {
      const filled = await appendFile(join(volume, 'elsewhere'), Buffer.alloc(64 * 2 ** 20)).catch(
        ({ code }: NodeJS.ErrnoException) => code,
      )
      expect(filled).to.equal('ENOSPC')
      const report = await examine({ MIN_FREE_DISK: '1MiB' }, volume)
      expectFirst(report, 'disk', /has 0\.0 MiB free: with less than 1\.0 MiB submissions are/)
    })

    it('names one that is read-only', async () => {
      expect(mount('remount,ro')).to.equal(0)
      expectFirst(await examine({}, volume), 'data_dir', /is on a read-only file system$/)
      expect(mount('remount,rw')).to.equal(0)
    })
  })

  describe('with a disk and a clock that are wrong', () => {
    const faults = useDiskFaults()

    it('names a disk that is slow', async () => {
      faults().slowSyncs(150)
      expectFirst(await examine(faults().environment), 'fsync', /it takes \d{3}\.\d ms, at worst/)
      faults().slowSyncs(40)
      const report = await examine(faults().environment)
      expect(report.checks[0]).to.include({ check: 'fsync', state: 'warning' })
      expect(report.exitCode).to.equal(0)
    })

    it('names a backup that is old', async () => {
      faults().setClockAhead(3 * DAY_MS)
      expectFirst(await examine(faults().environment), 'backup', /^the last backup is of 20/)
    })

    it('names a clock that is behind this version, or what is on disk', async () => {
      faults().setClockAhead(-800 * DAY_MS)
      expectFirst(await examine(faults().environment), 'clock', /before this version was made/)
      faults().setClockAhead(-3_600_000)
      expectFirst(await examine(faults().environment), 'clock', /files in DATA_DIR were written at/)
    })

    it('names a clock that is not that of a provider', async () => {
      const provider = new ForgingProvider(() => Date.now())
      await provider.start()
      faults().setClockAhead(60_000)
      try {
        const report = await examine({
          ...faults().environment,
          IDP_HOME_ISSUER: provider.issuer,
          IDP_HOME_CLIENT_ID: 'app',
          MOBILE_REDIRECT_URIS: 'org.example.app:/callback',
        })
        expectFirst(report, 'clock', /that of the identity provider HOME 20/)
      } finally {
        await provider.stop()
      }
    })
  })

  describe('with PostgreSQL', () => {
    const postgres = usePostgres()

    it('names a standby that is not there', async () => {
      const database = await newMigratedDatabase(postgres())
      try {
        const right = await examine({ DATABASE_URL: database.url })
        expect(right.exitCode, JSON.stringify(right.checks)).to.equal(0)
        const wrong = await examine({ DATABASE_URL: database.url, DURABILITY: 'replicated' })
        expectFirst(wrong, 'database', /synchronous_standby_names/)
      } finally {
        await database.remove()
      }
    })

    it('names a server that is away', async () => {
      const report = await examine({ DATABASE_URL: 'postgresql://u:a-secret@127.0.0.1:9/none' })
      expectFirst(
        report,
        'database',
        /^the database of DATABASE_URL cannot be used: .*ECONNREFUSED/,
      )
      expect(JSON.stringify(report)).not.to.include('a-secret')
    })
  })

  describe('with InfluxDB', () => {
    let influx: InfluxServer
    before(async function () {
      if (!hasInfluxd()) leaveOut(this, 'influxd to pause and kill')
      influx = await InfluxServer.start()
    })
    after(() => influx?.stop())

    const settings = (token: string, bucket: string) => ({
      INFLUX_URL: influx.url,
      INFLUX_ORG: influx.organization,
      INFLUX_BUCKET: bucket,
      INFLUX_TOKEN: token,
    })

    it('names a token that it does not take, and makes no bucket', async () => {
      const where = join(folder, 'with-influx')
      const wrong = await examine(settings('not-its-token', 'temperatures'), where)
      expectFirst(wrong, 'influxdb', /^InfluxDB does not accept INFLUX_TOKEN/)
      const right = settings(influx.influxToken, 'temperatures')
      for (let time = 1; time <= 2; time++) {
        const report = await examine(right, where)
        expect(report.checks[0]).to.include({ check: 'influxdb', state: 'warning' })
        expect(report.checks[0]?.message).to.match(/has no bucket "temperatures"/)
      }
      await serving(where, right, async () => {})
      const report = await examine(right, where)
      expect(report.exitCode, JSON.stringify(report.checks)).to.equal(0)
      expect(report.checks.find(({ check }) => check === 'influxdb')?.state).to.equal('ok')
    })

    it('names one that is away', async () => {
      const away = { ...settings('any', 'any'), INFLUX_URL: 'http://127.0.0.1:9' }
      expectFirst(await examine(away, join(folder, 'none')), 'influxdb', /^no answer from InfluxDB/)
    })
  })
})
