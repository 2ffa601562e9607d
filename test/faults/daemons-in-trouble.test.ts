// Goal: the daemons of examples/daemon/ come out of what happens to a gateway by itself: a full
// disk, a peer that refuses, a clock that was never set, a service restored from a backup. Method:
// the real service behind a proxy, a small file system, and a clock that is wrong.

import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rename, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { startWorker } from '../../src/threads/start-threads.ts'
import { Daemon, DAEMONS, needPrograms } from '../support/daemon.ts'
import type { DaemonKind } from '../support/daemon.ts'
import { FaultProxy } from '../support/fault-proxy.ts'
import { send } from '../support/http.ts'
import { leaveOut } from '../support/left-out.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

const HOUR_MS = 3_600_000
/** Little beside what the clocks are wrong by, and much for a busy machine. */
const CLOCK_MS_MAX = 60_000
const PYTHON = DAEMONS.find(({ name }) => name === 'send.py')!
const [PROGRAM = ''] = PYTHON.command.slice(1)

/** A daemon on a machine whose clock is so far off; to Python's its system says so. */
function withClock(kind: DaemonKind, offsetSeconds: number): DaemonKind {
  const [program = '', file = ''] = kind.command
  const shell = `date() {
      case " $* " in
      *" -d "*) command date "$@" ;;
      *) command date -d "@$(($(command date +%s) + ${offsetSeconds}))" "$@" ;;
      esac
    }
    . "$0"`
  const python = [
    'import runpy, sys, time, ctypes',
    'real, real_ns = time.time, time.time_ns',
    `time.time = lambda: real() + ${offsetSeconds}`,
    `time.time_ns = lambda: real_ns() + ${offsetSeconds} * 10**9`,
    'ctypes.CDLL = lambda name: type("C", (), {"adjtimex": staticmethod(lambda timex: 5)})',
    `sys.argv = ['${file}']`,
    `runpy.run_path('${file}', run_name='__main__')`,
  ].join('\n')
  const node = `const real = Date.now; Date.now = () => real() + ${offsetSeconds * 1_000}`
  const flags: Readonly<Record<string, readonly string[]>> = {
    'send.sh': ['-c', shell, file],
    'send.py': ['-c', python],
    'send.ts': ['--import', `data:text/javascript,${encodeURIComponent(node)}`, file],
  }
  return { ...kind, command: [program, ...(flags[kind.name] ?? [])] }
}

let service: TestService
let proxy: FaultProxy
let token: string
let folder: string
let hasBegun = false

async function begin(): Promise<void> {
  service = await startService({}, startWorker)
  service.clock.set(new Date(Math.max(Date.now(), service.clock.nowMs())).toISOString())
  proxy = await FaultProxy.start(service.url)
  token = await service.createToken('a@example.org')
  folder = await mkdtemp(join(tmpdir(), 'thermolog-daemon-'))
  hasBegun = true
}

async function end(): Promise<void> {
  // A test that is left out has not begun.
  if (!hasBegun) return
  hasBegun = false
  await proxy.close()
  await service.stop()
  await rm(folder, { recursive: true })
}

const start = (kind: DaemonKind) =>
  new Daemon(kind, { url: proxy.url, token, spool: join(folder, 'spool') })

async function points(): Promise<{ readonly temp: number; readonly timestamp: string }[]> {
  const { body } = await send(service.url, { path: '/api/v1/sensors', token })
  const [sensor] = body.data as { readonly id: number }[]
  const [from, to] = [-HOUR_MS, HOUR_MS].map((ms) => new Date(Date.now() + ms).toISOString())
  const path = `/api/v1/sensors/${sensor?.id}/measurements?bucket=raw&from=${from}&to=${to}`
  return (await send(service.url, { path, token })).body.data.points
}

for (const kind of DAEMONS) {
  describe(`examples/daemon/${kind.name} on a full disk`, () => {
    beforeEach(async function () {
      needPrograms(this, kind)
      await begin()
      const mount = ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', folder]
      if (spawnSync('mount', mount).status !== 0) leaveOut(this, 'the right to mount')
    })
    afterEach(async () => {
      if (hasBegun) spawnSync('umount', [folder])
      await end()
    })

    it('says so once, and drains when the service is back', async () => {
      proxy.use({ kind: 'cut' })
      const daemon = start(kind)
      expect(await daemon.give('cellar', 0)).to.equal(true)
      fill(600)
      const kept = await daemon.giveUntilLost('cellar')
      await daemon.kill()
      proxy.use({ kind: 'pass' })
      const again = start(kind)
      expect(await again.finish(), again.errors).to.equal(0)
      expect((await points()).length).to.be.within(kept + 1, kept + 2)
      expect(daemon.errors.match(/no room/g)).to.have.lengthOf(1)
    })
  })
}

for (const kind of DAEMONS) {
  describe(`examples/daemon/${kind.name} on a gateway`, () => {
    beforeEach(async function () {
      needPrograms(this, kind)
      await begin()
    })
    afterEach(end)

    it('stores the right times of a board whose clock is in 1970', async () => {
      await expectRightTimes(withClock(kind, -Math.floor(Date.now() / 1_000)))
    })

    it('sends without compression where that is refused', async () => {
      proxy.decide = ({ headers }) => {
        if (headers['content-encoding'] === undefined) return { kind: 'pass' }
        const body = JSON.stringify({ code: 'unsupported_encoding' })
        const type = { 'content-type': 'application/problem+json' }
        return { kind: 'answer', status: 415, body, headers: type }
      }
      const daemon = start(kind)
      for (const temp of [1, 2]) await daemon.give('cellar', temp)
      expect(await daemon.finish(), daemon.errors).to.equal(0)
      expect((await points()).map(({ temp }) => temp)).to.have.members([1, 2])
    })

    if (kind !== PYTHON) {
      it('sends again what was set aside and given back', async () => {
        const daemon = start(kind)
        await daemon.give('cellar', 99_999)
        expect(await daemon.finish()).to.equal(0)
        const spool = join(folder, 'spool')
        if (kind.name === 'send.sh') {
          await rm(join(spool, 'new'), { recursive: true })
          await rename(join(spool, 'rejected'), join(spool, 'new'))
        } else {
          await rename(join(spool, 'rejected.ndjson'), join(spool, '000000000000.ndjson'))
        }
        const before = proxy.requests.length
        const again = start(kind)
        expect(await again.finish()).to.equal(0)
        const sent = proxy.requests.slice(before).map(({ body }) => gunzipText(body))
        expect(sent).to.have.lengthOf(1)
        expect(sent[0]).to.include('99999')
        expect(again.errors).to.match(/maximum/)
      })
    }
  })
}

/** Two readings that the network lets through late have the time at which they were taken. */
async function expectRightTimes(kind: DaemonKind): Promise<void> {
  proxy.useFor(2, { kind: 'cut' })
  const daemon = start(kind)
  const beforeMs = Date.now()
  for (const temp of [1, 2]) await daemon.give('cellar', temp)
  expect(await daemon.finish(), daemon.errors).to.equal(0)
  const found = await points()
  expect(found).to.have.lengthOf(2)
  for (const { timestamp } of found) {
    expect(Date.parse(timestamp)).to.be.closeTo(beforeMs, CLOCK_MS_MAX)
  }
}

/** Takes the room of the file system but for so many KiB. */
function fill(leftKib: number): void {
  const script = `free=$(df -Pk "$1" | awk 'NR == 2 { print $4 }')
    dd if=/dev/zero of="$1/other" bs=1024 count=$((free - ${leftKib}))`
  expect(spawnSync('sh', ['-c', script, 'sh', folder]).status).to.equal(0)
}

describe('examples/daemon/send.py in trouble', () => {
  beforeEach(async function () {
    needPrograms(this, PYTHON)
    await begin()
  })
  afterEach(end)

  for (const [title, offset] of [
    ['three days behind', -259_200],
    ['a year ahead', 31_536_000],
  ] as const) {
    it(`stores the right times of a board whose clock is ${title}`, async () => {
      await expectRightTimes(withClock(PYTHON, offset))
    })
  }

  it('sends the newest readings first', async () => {
    proxy.use({ kind: 'cut' })
    const daemon = start(PYTHON)
    for (let temp = 1; temp <= 600; temp++) await daemon.give('cellar', temp)
    const before = proxy.requests.length
    proxy.use({ kind: 'pass' })
    expect(await daemon.finish()).to.equal(0)
    const [fresh] = proxy.requests.slice(before).filter(({ method }) => method === 'POST')
    // A batch has 500. Those of one millisecond come in any order: the hundredth may be among them.
    expect(gunzipText(fresh!.body)).to.include('"temp":600').and.not.to.include('"temp":1.0,')
  })

  it('says after a while that nothing is delivered, and why', async () => {
    proxy.use({ kind: 'answer', status: 503, headers: { 'retry-after': '0' } })
    const daemon = new Daemon(PYTHON, {
      url: proxy.url,
      token,
      spool: join(folder, 'spool'),
      settings: { SILENCE_SECONDS_MAX: '1' },
    })
    await daemon.give('cellar', 1)
    await until('it is said', () => daemon.errors.includes('nothing was delivered'))
    proxy.use({ kind: 'pass' })
    expect(await daemon.finish()).to.equal(0)
    expect(daemon.errors).to.include('1 readings wait: status 503')
  })

  it('sends again, once, what a restored service may lack', async () => {
    const first = start(PYTHON)
    await first.give('cellar', 1)
    expect(await first.finish()).to.equal(0)
    await proxy.close()
    await service.stop()
    service = await startService({}, startWorker)
    service.clock.set(new Date(Math.max(Date.now(), service.clock.nowMs())).toISOString())
    proxy = await FaultProxy.start(service.url)
    token = await service.createToken('a@example.org')
    for (const temp of [2, 3]) {
      const daemon = start(PYTHON)
      await daemon.give('cellar', temp)
      expect(await daemon.finish()).to.equal(0)
      const told = daemon.errors.includes('restored: 1 delivered readings are sent again')
      expect(told, daemon.errors).to.equal(temp === 2)
    }
    expect((await points()).map(({ temp }) => temp)).to.have.members([1, 2, 3])
  })

  it('gives back what was set aside', async () => {
    const daemon = start(PYTHON)
    await daemon.give('cellar', 99_999)
    expect(await daemon.finish()).to.equal(0)
    const env = { ...process.env, SPOOL: join(folder, 'spool') }
    const run = (option: string) =>
      spawnSync('python3', [PROGRAM, option], { env, encoding: 'utf8' }).stdout
    expect(JSON.parse(run('--aside'))).to.include({ temp: 99_999, reason: 'maximum' })
    expect(run('--retry')).to.equal('1 readings are sent again\n')
    expect(run('--aside')).to.equal('')
  })

  for (const [name, value] of Object.entries({
    THERMOLOG_URL: 'thermolog.example',
    RETRY_SECONDS_MAX: 'a minute',
    SPOOL_MB_MAX: '0',
  })) {
    it(`does not start with ${name}=${value}`, async () => {
      const place = { url: proxy.url, token, spool: join(folder, 'spool') }
      const daemon = new Daemon(PYTHON, { ...place, settings: { [name]: value } })
      expect(await daemon.finish()).to.equal(2)
      expect(daemon.errors).to.include(name)
    })
  }

  it('installs a unit that systemd understands', async function () {
    if (spawnSync('systemd-analyze', ['--version']).error) leaveOut(this, 'systemd-analyze')
    const env = { ...process.env, DESTDIR: folder, THERMOLOG_TOKEN: token }
    const command = `printf 'cellar %s\\n' "$(date +%S)"`
    const installed = spawnSync('python3', [PROGRAM, '--install', command], { env })
    expect(installed.status, installed.stderr.toString()).to.equal(0)
    const unit = join(folder, 'etc/systemd/system/thermolog-send.service')
    const verified = spawnSync('systemd-analyze', ['verify', '--man=no', unit], {
      encoding: 'utf8',
    })
    expect(verified.stderr).to.equal('')
    expect(await readFile(unit, 'utf8')).to.include(`printf 'cellar %%s\\\\n' \\"$$(date +%%S)\\"`)
    const settings = await stat(join(folder, 'etc/thermolog-send.env'))
    expect(settings.mode & 0o777).to.equal(0o600)
  })
})

function gunzipText(body: Buffer): string {
  return gunzipSync(body).toString('utf8')
}
