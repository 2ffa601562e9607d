// Goal: `npm run demo` works where nothing is yet, as somebody types it who has just cloned it.
// Method: it starts in an empty folder, for phones where there is a network, and what it shows is
// followed.

import { expect } from 'chai'
import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { networkAddress } from '../../src/config-values.ts'
import { runCommand } from '../support/command.ts'
import { freePort } from '../support/free-port.ts'
import { send } from '../support/http.ts'
import { leaveOut } from '../support/left-out.ts'
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
const WITHOUT_NETWORK = ['--net', '--map-root-user'] as const

describe('the demo', () => {
  let folder: string
  let demo: ChildProcess | undefined

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-demo-'))
  })

  after(async () => {
    demo?.kill('SIGKILL')
    await rm(folder, { recursive: true })
  })

  it('starts in an empty folder, shows its sensors, and ends when it is told to', async () => {
    // It listens on two, one after the other.
    const port = await freePort()
    expect(await freePort()).to.equal(port + 1)
    const address = networkAddress()
    const phone = address === undefined ? [] : ['--phone']
    const started = spawn(process.execPath, [DEMO, '--redirect-uri', APP, ...phone], {
      cwd: folder,
      env: { PATH: `${join(ROOT, 'bin')}:${process.env['PATH']}`, PORT: String(port) },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    demo = started
    const ended = once(started, 'close')
    let shown = ''
    let told = ''
    started.stdout.on('data', (piece) => (shown += String(piece)))
    started.stderr.on('data', (piece) => (told += String(piece)))
    const last = phone.length > 0 ? /#\/link\/\S+\n/ : /user link \S+\n/
    const isReady = () => last.test(shown) || started.exitCode !== null
    await until('the demo is ready', isReady, READY_MS_MAX)
    expect(shown, told).to.include('Ready. 8 sensors')
    const [, token = ''] = /Authorization: Bearer (\S+)'/.exec(shown) ?? []
    const headers = { authorization: `Bearer ${token}` }
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
    expect(told).not.to.include('WARNING')
    const url = `http://127.0.0.1:${port}`
    const { body } = await send(url, { path: '/api/mobile/v1/bootstrap' })
    expect(body.data.sign_in_providers[0].redirect_uri).to.equal(APP)
    const [, order = ''] = /bin\/thermolog (user link .*)/.exec(shown) ?? []
    const { stdout } = await runCommand(join(folder, 'demo-data'), order.split(' '))
    expect(stdout).to.match(/^http\S+\/#\/link\/\S+\n$/)
    if (address !== undefined) await signInOnPhone(shown, `http://${address}:${port}`)
    started.kill('SIGINT')
    const [exitCode] = (await within('the demo ends', ended)) as [number | null]
    expect(exitCode, told).to.equal(0)
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
