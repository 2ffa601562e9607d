// Goal: `npm run demo` works where nothing is yet, as somebody types it who has just cloned it.
// Method: it starts in an empty folder, for phones where there is a network, and what it shows is
// followed.

import { expect } from 'chai'
import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { networkAddress } from '../../src/config-values.ts'
import { runProcess } from '../support/command.ts'
import { freePort } from '../support/free-port.ts'
import { send } from '../support/http.ts'
import { leaveOut } from '../support/left-out.ts'
import { postgresPrograms } from '../support/postgres-server.ts'
import { readQrCode } from '../support/qr-code.ts'
import { until, within } from '../support/until.ts'

const DEMO = fileURLToPath(new URL('../../examples/demo.ts', import.meta.url))
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Where a phone returns to an app. */
const APP = 'org.example.app:/callback'
/** It sends a year of measurements before it says that it is ready. */
const READY_MS_MAX = 100_000
/** Of the smallest terminal; the cursor has one. */
const ROWS = 24
/** What it shows at its end, where there are no phones. */
const LAST = /user link \S+\n/
const WITHOUT_NETWORK = ['--net', '--map-root-user'] as const

describe('the demo', () => {
  let folder: string
  let demo: StartedDemo | undefined

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-demo-'))
  })

  afterEach(async () => {
    // It ends what it has started.
    demo?.child.kill('SIGTERM')
    await demo?.ended
    demo = undefined
  })

  after(() => rm(folder, { recursive: true }))

  it('starts in an empty folder, shows its sensors, and ends when it is told to', async () => {
    // It listens on two, one after the other.
    const port = await freePort()
    expect(await freePort()).to.equal(port + 1)
    const address = networkAddress()
    const phone = address === undefined ? [] : ['--phone']
    demo = startDemo(folder, { PORT: String(port) }, '--redirect-uri', APP, ...phone)
    const shown = await demo.ready(phone.length > 0 ? /#\/link\/\S+\n/ : LAST)
    const headers = { authorization: `Bearer ${ownerToken(shown)}` }
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/sensors`, { headers })
    const { data } = (await answer.json()) as { data: { alias: string }[] }
    expect(data.map(({ alias }) => alias))
      .to.include('Living room')
      .and.to.have.lengthOf(8)
    const since = new Date(Date.now() - 1_000).toISOString()
    const path = `sensors/1/measurements?bucket=raw&from=${since}`
    let live: readonly number[] = []
    await until('it has sent some values', async () => {
      const history = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`, { headers })
      const { data: answered } = (await history.json()) as { data: { points: { temp: number }[] } }
      live = answered.points.map(({ temp }) => temp)
      return live.length > 4
    })
    // As calm as the past: a room does not change within seconds.
    expect(Math.max(...live) - Math.min(...live)).to.be.below(0.05)
    expect(demo.told()).not.to.include('WARNING')
    const url = `http://127.0.0.1:${port}`
    const { body } = await send(url, { path: '/api/mobile/v1/bootstrap' })
    expect(body.data.sign_in_providers[0].redirect_uri).to.equal(APP)
    const [, order = ''] = /bin\/thermolog (user link .*)/.exec(shown) ?? []
    const { stdout } = await runProcess(join(folder, 'demo-data'), order.split(' '))
    expect(stdout).to.match(/^http\S+\/#\/link\/\S+\n$/)
    if (address !== undefined) await signInOnPhone(shown, `http://${address}:${port}`)
    await expectEnd(demo)
  })

  it('goes on when one of several processes is killed', async function () {
    if (postgresPrograms() === undefined) leaveOut(this, 'PostgreSQL to stop and kill')
    const port = await freePort()
    demo = startDemo(folder, { PORT: String(port) }, '--replicas', '2')
    const shown = await demo.ready(LAST)
    const token = ownerToken(shown)
    const [, killed = ''] =
      /Kill one of the processes (\d+), \d+: the others go on/.exec(shown) ?? []
    process.kill(Number(killed), 'SIGKILL')
    await until('it is gone', () => !existsSync(`/proc/${killed}`))
    for (let sent = 0; sent < 4; sent++) {
      const measurement = { event_id: `mine-${sent}`, sn: 'my-first-sensor', temp: 21.4 }
      const request = { method: 'POST', path: '/api/v1/measurements', token, body: measurement }
      // A connection may have been to the one that is gone: as senders do, we send again.
      await until('it is stored', () =>
        send(`http://127.0.0.1:${port}`, request).then(
          ({ status }) => status === 201 || status === 200,
          () => false,
        ),
      )
    }
    await expectEnd(demo)
  })

  it('lists its options, and refuses what is none', async () => {
    demo = startDemo(folder, {}, '--help')
    expect(await demo.ended).to.equal(0)
    expect(demo.shown()).to.match(/--phone .*--redirect-uri .*--replicas /s)
    for (const [args, refusal] of [
      [['--phones'], /^error: unknown option '--phones'\n/],
      [['--replicas', 'some'], /'some' is invalid\. It must be a positive integer\.\n/],
    ] as const) {
      demo = startDemo(folder, {}, ...args)
      expect(await demo.ended).to.equal(2)
      expect(demo.told())
        .to.match(refusal)
        .and.match(/\nSee npm run demo -- --help\.\n$/)
    }
  })

  it('says what to install where there is no PostgreSQL', async () => {
    demo = startDemo(folder, { PATH: folder, POSTGRES_FOLDER: folder }, '--replicas', '2')
    expect(await demo.ended).to.equal(1)
    expect(demo.told()).to.include('no PostgreSQL is found: install one')
  })

  it('says that no phone can reach it where the machine is in no network', function () {
    const isAllowed = spawnSync('unshare', [...WITHOUT_NETWORK, 'true']).status === 0
    if (!isAllowed) leaveOut(this, 'a network namespace')
    const order = [...WITHOUT_NETWORK, process.execPath, DEMO, '--phone']
    const { stderr, status } = spawnSync('unshare', order, { cwd: folder, encoding: 'utf8' })
    expect(stderr).to.match(/^--phone: this machine is in no network[^\n]*\n$/)
    expect(status).to.equal(1)
  })
})

interface StartedDemo {
  readonly child: ChildProcess
  /** With what it exits with. */
  readonly ended: Promise<number | null>
  shown(): string
  told(): string
  /** @returns what it shows, when that has `last` */
  ready(last: RegExp): Promise<string>
}

function startDemo(cwd: string, env: NodeJS.ProcessEnv, ...args: string[]): StartedDemo {
  const child = spawn(process.execPath, [DEMO, ...args], {
    cwd,
    env: { PATH: `${join(ROOT, 'bin')}:${process.env['PATH']}`, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let shown = ''
  let told = ''
  child.stdout.on('data', (piece) => (shown += String(piece)))
  child.stderr.on('data', (piece) => (told += String(piece)))
  const ended = once(child, 'close').then(([exitCode]) => exitCode as number | null)
  const ready = async (last: RegExp) => {
    const isReady = () => last.test(shown) || child.exitCode !== null
    await until('the demo is ready', isReady, READY_MS_MAX)
    expect(shown, told).to.include('Ready. 8 sensors')
    return shown
  }
  return { child, ended, shown: () => shown, told: () => told, ready }
}

async function expectEnd({ child, ended, told }: StartedDemo): Promise<void> {
  child.kill('SIGINT')
  expect(await within('the demo ends', ended), told()).to.equal(0)
}

function ownerToken(shown: string): string {
  const [, token = ''] = /Authorization: Bearer (\S+)'/.exec(shown) ?? []
  return token
}

/** What ends the page of the demo is on a small terminal whole: a code, and the link in it. */
async function signInOnPhone(shown: string, url: string): Promise<void> {
  const rows = stripVTControlCharacters(shown).trimEnd().split('\n')
  const link = rows.at(-1) ?? ''
  const [code, begin] = [link.split('/#/link/')[1], rows.lastIndexOf('')]
  expect(link).to.equal(`${url}/#/link/${code}`)
  expect(readQrCode(rows.slice(begin).join('\n'))).to.equal(link)
  expect(rows.length - begin).to.be.below(ROWS)
  const path = '/api/mobile/v1/auth/link'
  const redeemed = { code, code_verifier: 'v'.repeat(43) }
  const { body } = await send(url, { method: 'POST', path, body: redeemed })
  const { token } = body.data
  const dashboard = await send(url, { path: '/api/mobile/v1/dashboard', token })
  expect(dashboard.body.data.sensors_total).to.equal(8)
}
