// Goal: the example app is used as a person does, with a service that comes and goes. What it keeps
// is compared with what the service answers in test/examples/app.test.ts.

import { expect } from 'chai'
import { spawn } from 'node:child_process'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runCommand, serve } from '../support/command.ts'
import type { RunningService } from '../support/command.ts'
import { freePort } from '../support/free-port.ts'
import { send } from '../support/http.ts'
import { BASE } from '../support/mobile.ts'
import { until } from '../support/until.ts'

const APP = fileURLToPath(new URL('../../examples/app.ts', import.meta.url))
const ANA = 'ana@example.org'
const HOUR_MS = 3_600_000

describe('the example app', () => {
  let folder = ''
  let gateway = ''
  let service: RunningService
  let settings: Readonly<Record<string, string>>
  let app: ChildProcessWithoutNullStreams
  let shown = ''

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-app-'))
    settings = { PORT: String(await freePort()) }
    await runCommand(folder, ['user', 'create', '--email', ANA])
    const order = ['token', 'create', '--user', ANA, '--name', 'gateway']
    gateway = (await runCommand(folder, order)).stdout.trim()
    service = await serve(folder, settings)
  })

  after(async () => {
    app.kill('SIGKILL')
    await service.stop()
    await rm(folder, { recursive: true })
  })

  const start = (...words: string[]) => {
    shown = ''
    app = spawn(process.execPath, [APP, ...words], { cwd: folder })
    for (const stream of [app.stdout, app.stderr]) {
      stream.on('data', (piece) => (shown += String(piece)))
    }
  }
  const type = (line: string) => {
    shown = ''
    app.stdin.write(`${line}\n`)
  }
  const shows = async (what: RegExp) => {
    await until(`${what} is shown`, () => what.test(shown))
  }
  const newLink = async () => {
    const { stdout } = await runCommand(folder, ['user', 'link', ANA], settings)
    return stdout.trim()
  }
  const submit = async (sn: string, temp: number, agoMs: number) => {
    const timestamp = new Date(Date.now() - agoMs).toISOString()
    const body = { sn, temp, timestamp }
    const path = '/api/v1/measurements'
    await send(service.url, { method: 'POST', path, token: gateway, body })
  }

  it('signs in with a link, draws the last day with its gaps, and shows what comes', async () => {
    await submit('cellar', 10, 5 * HOUR_MS)
    await submit('cellar', 19, 2 * HOUR_MS)
    start(await newLink())
    await shows(/1 ○   19\.00 °C  cellar\n[^]*Live, as of /)
    expect(chartIn(shown)).to.deep.equal(['  19.0 o', '  10.0 o'])
    const { mode } = await stat(join(folder, 'app.token'))
    expect(mode & 0o077).to.equal(0)
    await submit('attic', 30, 0)
    await shows(/2 ●   30\.00 °C  attic\n/)
    type('2')
    await shows(/attic, the last 24 hours[^]* {2}30\.0 [^\n]*o *\n[^]*Live/)
  })

  it('shows without a service what it keeps, and goes on when there is one again', async () => {
    await service.stop()
    await shows(/Offline: /)
    app.kill('SIGKILL')
    await once(app, 'exit')
    start()
    await shows(/Catching up, as of [^]*Offline: /)
    expect(chartIn(shown)).to.deep.equal(['  19.0 o', '  10.0 o'])
    shown = ''
    service = await serve(folder, settings)
    await shows(/Live, as of /)
  })

  it('asks for a sign-in when the token has ended, and takes a printed one', async () => {
    type('out')
    await shows(/You are signed out\.\nA sign-in link, or an address and a token: $/)
    const [, code] = (await newLink()).split('#/link/')
    const body = { code, code_verifier: 'v'.repeat(43) }
    const path = `${BASE}/auth/link`
    const { token } = (await send(service.url, { method: 'POST', path, body })).body.data
    type(`${service.url} ${token}`)
    await shows(/1 ○   19\.00 °C  cellar\n[^]*Live, as of /)
    await send(service.url, { method: 'POST', path: `${BASE}/logout`, token })
    await shows(/You are signed out\./)
  })

  it('asks for an update when the service wants a newer one', async () => {
    await service.stop()
    service = await serve(folder, { ...settings, APP_MINIMUM_VERSION: '1.0.1' })
    type(await newLink())
    await shows(/Update this app first\.\n/)
  })
})

/** Rows of the first chart that have a mean, each once. */
function chartIn(text: string): string[] {
  const rows = text.split('Live')[0]?.match(/^ {2}\d\d\.\d .*o.*$/gm) ?? []
  return [...new Set(rows.map((row) => row.replace(/ +(?=o)/g, ' ').trimEnd()))]
}
