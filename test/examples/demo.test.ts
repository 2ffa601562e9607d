// Goal: `npm run demo` works where nothing is yet, as somebody types it who has just cloned it.
// Method: it starts in an empty folder, and the first lines it shows are followed.

import { expect } from 'chai'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../support/free-port.ts'
import { until, within } from '../support/until.ts'

const DEMO = fileURLToPath(new URL('../../examples/demo.ts', import.meta.url))
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** It sends a year of measurements before it says that it is ready. */
const READY_MS_MAX = 100_000

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
    const started = spawn(process.execPath, [DEMO], {
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
    const isReady = () => shown.includes('/events') || started.exitCode !== null
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
    started.kill('SIGINT')
    const [exitCode] = (await within('the demo ends', ended)) as [number | null]
    expect(exitCode, told).to.equal(0)
  })
})
