// Goal: `thermolog doctor` names first what is wrong with the machine: disk, memory, clock, owners;
// and knows ports that the machine keeps from it. Method: the real command where that is so: full
// and read-only volumes, a control group, slowed syncs, another clock, another user.

import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { appendFile, chmod, chown, cp, mkdir, rm } from 'node:fs/promises'
import { rmdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import type { Environment } from '../support/command.ts'
import { runProcess } from '../support/command.ts'
import { useDiskFaults } from '../support/disk-faults.ts'
import {
  answering,
  examinedBy,
  examinedByNobody,
  expectFirst,
  mayBeNobody,
  useDoctor,
} from '../support/doctor.ts'
import type { DoctorReport } from '../support/doctor.ts'
import { ForgingProvider } from '../support/forging-provider.ts'
import { freePortOf } from '../support/free-port.ts'
import { leaveOut } from '../support/left-out.ts'

const NOBODY = 65_534
const DAY_MS = 86_400_000
const CONTROL_GROUPS = '/sys/fs/cgroup'
const PORTS_OF_ROOT = Array.from({ length: 100 }, (_, index) => 1_023 - index)

describe('thermolog doctor on a machine', () => {
  const test = useDoctor()

  it('names an owner who is not that of the folder', async function () {
    if (process.getuid?.() !== 0) leaveOut(this, 'a user who is nobody')
    await chown(test().dataDir, NOBODY, NOBODY)
    const report = await test().examine()
    expectFirst(report, 'data_dir', /belongs to uid 0, not to uid 65534$/)
    expect(report.checks[0]?.remedy).to.equal(`as root: chown 65534:65534 ${test().dataDir}/*`)
  })

  it('names memory that is too small for the service, or for its full load', async function () {
    const resting = await examineWithin(150 * 2 ** 20)
    if (resting === undefined) leaveOut(this, 'a control group')
    const needed = (bytes: string) =>
      new RegExp(`^the service needs ${bytes} with 0 event ids, but`)
    expectFirst(resting, 'memory', needed('180\\.0 MiB at rest'))
    expect(resting.checks[0]?.message).to.match(/the limit .* 150\.0 MiB$/)
    const loaded = await examineWithin(300 * 2 ** 20)
    expect(loaded?.checks[0]).to.include({ check: 'memory', state: 'warning' })
    expect(loaded?.checks[0]?.message).to.match(needed('400\\.0 MiB at full load'))
  })

  /** @returns `undefined`: no control group can be made here */
  async function examineWithin(bytes: number): Promise<DoctorReport | undefined> {
    const group = await makeGroup(bytes)
    if (group === undefined) return undefined
    const program = 'echo $$ >"$0/cgroup.procs" && exec "$@"'
    try {
      const environment = { DATA_DIR: test().dataDir, PORT: test().port }
      return await examinedBy(['/bin/sh', '-c', program, group], environment)
    } finally {
      await rmdir(group)
    }
  }

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

  it('names data that are damaged, or not there, whichever file has them', async () => {
    const { original, dataDir } = test()
    const replaced = async (name: string, bytes: Buffer | undefined) => {
      await rm(join(dataDir, name))
      if (bytes !== undefined) await writeFile(join(dataDir, name), bytes)
      const report = await test().examine()
      await cp(original, dataDir, { recursive: true })
      return report
    }
    for (const name of ['control.db', 'ledger.db', 'measurements.db']) {
      const bytes = readFileSync(join(original, name)).fill(0xff, 1_024, 3_072)
      const report = await replaced(name, bytes)
      expectFirst(report, 'data', /damaged|malformed/)
      expect(report.checks[0]?.remedy).to.match(/`thermolog verify`/)
    }
    expectFirst(
      await replaced('control.db', undefined),
      'data_dir',
      /control\.db is missing beside ledger\.db and measurements\.db$/,
    )
  })

  it('waits for nothing that is not a file', async () => {
    const pipe = (name: string) => {
      rmSync(join(test().dataDir, name))
      expect(spawnSync('mkfifo', [join(test().dataDir, name)]).status).to.equal(0)
    }
    pipe('last-backup.json')
    const { checks } = await test().examine()
    expect(checks[0]).to.include({ check: 'backup', state: 'warning' })
    for (const name of ['lock.db', 'control.db']) {
      pipe(name)
      expectFirst(await test().examine(), 'data_dir', new RegExp(`${name} is not a file$`))
    }
  })

  it('writes nowhere but where it may, whatever it finds in DATA_DIR', async () => {
    const precious = join(test().folder, 'precious')
    await writeFile(precious, 'as it was')
    await symlink(precious, join(test().dataDir, 'doctor-probe'))
    expect((await test().examine()).exitCode).to.equal(0)
    expect(readFileSync(precious, 'utf8')).to.equal('as it was')
    expect(existsSync(join(test().dataDir, 'doctor-probe'))).to.equal(false)
    await mkdir(join(test().dataDir, 'doctor-probe'))
    await symlink('loop', join(test().dataDir, 'loop'))
    expectFirst(await test().examine(), 'fsync', /^cannot write to/)
  })

  it('is right where the folder is of root, and of a group that may write', async function () {
    if (process.getuid?.() !== 0) leaveOut(this, 'a user who is nobody')
    await giveToNobody(test().dataDir)
    await chown(test().dataDir, 0, 0)
    await mkdir(join(test().dataDir, 'lost+found'))
    const report = await test().examine()
    expect(report.exitCode, JSON.stringify(report.checks)).to.equal(0)
  })

  async function giveToNobody(folder: string): Promise<void> {
    for (const name of ['', ...readdirSync(folder)]) {
      await chown(join(folder, name), NOBODY, NOBODY)
    }
  }

  it('names a DATA_DIR that cannot be made', async function () {
    const isRoot = process.getuid?.() === 0
    if (isRoot && !mayBeNobody()) leaveOut(this, 'a user who is nobody')
    const closed = join(test().folder, 'closed')
    await mkdir(closed)
    await chmod(closed, 0o555)
    const environment = { DATA_DIR: join(closed, 'data'), PORT: test().port }
    const report = await (isRoot ? examinedByNobody(environment) : examinedBy([], environment))
    expectFirst(report, 'data_dir', /cannot be used: uid \d+ may not write to .*closed \(EACCES\)/)
  })

  it('asks at a PORT that only the service may listen to', async function () {
    const port = await freePortOf(PORTS_OF_ROOT)
    if (port === undefined || !mayBeNobody()) leaveOut(this, 'a user who is nobody')
    const environment = { DATA_DIR: test().dataDir, PORT: String(port) }
    const asked = await withReadiness(port, async () => {
      expect(addressStates(await examinedByNobody(environment))).to.deep.equal(['ok', 'ok'])
    })
    expect(asked).to.equal(1)
  })

  it('asks where systemd holds the address, unless the service is stopped', async function () {
    if (!mayBeNobody()) leaveOut(this, 'a user who is nobody')
    const etc = join(test().folder, 'etc')
    const units = join(etc, 'systemd/system')
    await mkdir(join(units, 'sockets.target.wants'), { recursive: true })
    // Node wants to look for the settings of OpenSSL there, be it in vain.
    await chmod(etc, 0o755)
    const mount = ['unshare', '--mount', 'sh', '-c', 'mount --bind "$0" /etc && exec "$@"', etc]
    if (spawnSync('unshare', [...mount.slice(1), 'true']).status !== 0) {
      leaveOut(this, 'the right to mount')
    }
    for (const name of ['passwd', 'group']) await cp(join('/etc', name), join(etc, name))
    const program = fileURLToPath(new URL('../../bin/thermolog', import.meta.url))
    const service = `[Service]\nUser=nobody\nExecStart=${program} serve\n`
    await writeFile(join(units, 'thermolog.service'), service)
    await giveToNobody(test().dataDir)
    await symlink('../thermolog.socket', join(units, 'sockets.target.wants/thermolog.socket'))
    const stream = `127.0.0.1:${test().port}`
    const unit = `[Socket]\nListenStream=127.0.0.1:9\nListenStream=\nListenStream=${stream}\n`
    await writeFile(join(units, 'thermolog.socket'), unit, { mode: 0o600 })
    const asked = await withReadiness(Number(test().port), async () => {
      const stopped = await examinedBy(mount, { DATA_DIR: test().dataDir, PORT: test().port })
      expect(stopped.exitCode, JSON.stringify(stopped.checks)).to.equal(0)
      expect(stopped.checks.find(({ check }) => check === 'port')?.message).to.include(stream)
    })
    expect(asked, 'to connect is to start the service').to.equal(0)
    await withReadiness(Number(test().port), async () => {
      // A database has the data, so nothing else says whether the service runs.
      const database = 'postgresql://u@127.0.0.1:9/none'
      const report = await examinedBy(mount, { DATABASE_URL: database, PORT: '9' })
      expect(addressStates(report)).to.deep.equal(['ok', 'ok'])
    })
  })

  function addressStates({ checks }: DoctorReport): string[] {
    return checks.filter(({ check }) => /^(port|service)$/.test(check)).map(({ state }) => state)
  }

  /** Answers at the port as a service that is ready. @returns how many connections there were */
  function withReadiness(port: number, work: () => Promise<void>): Promise<number> {
    const ready = '{"status":"ready","backlog":{"entries":0}}'
    return answering((_request, response) => response.end(ready), work, port)
  }

  describe('on a volume of its own', () => {
    let volume: string
    const mount = (options: string) =>
      spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', volume]).status

    beforeEach(async function () {
      volume = join(test().folder, 'volume')
      await mkdir(volume)
      if (mount('size=32m') !== 0) leaveOut(this, 'the right to mount')
      await cp(test().original, volume, { recursive: true })
    })
    afterEach(() => void spawnSync('umount', [volume]))

    it('names one that is full', async () => {
      const filled = await appendFile(join(volume, 'elsewhere'), Buffer.alloc(64 * 2 ** 20)).catch(
        ({ code }: NodeJS.ErrnoException) => code,
      )
      expect(filled).to.equal('ENOSPC')
      const report = await test().examine({}, volume)
      expectFirst(report, 'disk', /has 0\.0 MiB free: with less than 2\d\d\.\d MiB submissions are/)
    })

    it('names one that is too small for new data, as a start does', async () => {
      const lack = /its volume has \d+\.\d MiB free, and new data need 4\d\d\.\d MiB/
      const fresh = join(volume, 'fresh')
      const report = await test().examine({}, fresh)
      expectFirst(report, 'disk', lack)
      expect(report.checks[0]?.remedy).to.equal(
        `free space on the volume of ${fresh}, or enlarge it`,
      )
      const { exitCode, stderr } = await runProcess(fresh, ['serve'], { PORT: test().port })
      expect(stderr)
        .to.match(lack)
        .and.match(/: free space there, or use a larger volume$/m)
      expect(exitCode).to.equal(2)
      await mkdir(fresh, { recursive: true })
      expectFirst(await test().examine({}, fresh), 'disk', lack)
    })

    it('names one that is read-only', async () => {
      expect(mount('remount,ro')).to.equal(0)
      expectFirst(await test().examine({}, volume), 'data_dir', /is on a read-only file system$/)
      expect(mount('remount,rw')).to.equal(0)
    })
  })

  describe('with a disk and a clock that are wrong', () => {
    const faults = useDiskFaults()
    const examine = (settings: Environment = {}) => {
      const { dataDir, port } = test()
      const of = { DATA_DIR: dataDir, PORT: port }
      return examinedBy([], { ...of, ...settings, ...faults().environment })
    }

    it('names a disk that is slow', async () => {
      faults().slowSyncs(150)
      expectFirst(await examine(), 'fsync', /a write takes \d{3}\.\d ms, at worst/)
      faults().slowSyncs(40)
      const report = await examine()
      expect(report.checks[0]).to.include({ check: 'fsync', state: 'warning' })
      expect(report.exitCode).to.equal(0)
    })

    it('names a backup that is old, or of the future', async () => {
      faults().setClockAhead(3 * DAY_MS)
      expectFirst(await examine(), 'backup', /^the last backup is of 20/)
      faults().setClockAhead(0)
      const note = '{"taken_at":"2099-01-01T00:00:00Z","file":null}'
      await writeFile(join(test().dataDir, 'last-backup.json'), note)
      expectFirst(await examine(), 'backup', /^the last backup is of 2099-01-01/)
    })

    it('names a clock that is behind this version, or what is on disk', async () => {
      faults().setClockAhead(-800 * DAY_MS)
      expectFirst(await examine(), 'clock', /before this version was made/)
      faults().setClockAhead(-3_600_000)
      expectFirst(await examine(), 'clock', /files in DATA_DIR were written at/)
    })

    it('names a clock that is not that of a provider', async () => {
      const provider = new ForgingProvider(() => Date.now())
      await provider.start()
      faults().setClockAhead(60_000)
      try {
        const report = await examine({
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
})
