// Goal: a fleet of the daemons of examples/daemon/ loses no confirmed reading and has none stored
// twice, and a backlog that drains beside it does not hold up what is measured now. Method: each
// daemon measures once a second behind a proxy that breaks requests; daemons and the service are
// killed at random. Then the network is whole, 300,000 old readings drain, and the dashboard is
// watched meanwhile. Each reading has a temperature of its own for its sensor.

import { expect } from 'chai'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { serve } from '../support/command.ts'
import type { RunningService } from '../support/command.ts'
import { Daemon, DAEMONS, needPrograms } from '../support/daemon.ts'
import type { DaemonKind } from '../support/daemon.ts'
import { FaultProxy } from '../support/fault-proxy.ts'
import type { Fault } from '../support/fault-proxy.ts'
import { createFleetToken } from '../support/fleet-token.ts'
import { freePort } from '../support/free-port.ts'
import { byLength } from '../support/length.ts'
import { until } from '../support/until.ts'

const DAEMON_COUNT = byLength(12, 200)
const TROUBLE_MS = byLength(15_000, 300_000)
const BACKLOG = byLength(5_000, 300_000)
const EVERY_MS = 1_000
/** Readings that are on their way to the daemon without a network. */
const AHEAD = 100
const AGE_MS_MAX = 15_000
const FRESH_MS_MAX = 60_000
const DRAINED_MS_MAX = 1_200_000
const HOUR_MS = 3_600_000
/** Gateways have tokens of their own, and 200 of them more requests a minute than one. */
const SETTINGS = { RATE_LIMIT_REQUESTS: '0' }
/** Of ten daemons, so many are in Python and in TypeScript; the rest is sh. */
const OF_TEN = { python: 5, typescript: 4 }
const NETWORK: readonly Fault[] = [
  ...Array.from({ length: 5 }, () => ({ kind: 'pass' }) as const),
  { kind: 'cut' },
  { kind: 'lose_reply' },
  { kind: 'cut_reply', afterBytes: 40 },
  { kind: 'answer', status: 502, body: '<html>Bad gateway</html>' },
  { kind: 'answer', status: 429 },
  { kind: 'answer', status: 404, body: '<html>nginx</html>' },
  { kind: 'answer', status: 200, body: '<html>Please sign in to the Wi-Fi</html>' },
]

/** A sensor with its daemon, which is started again when it was killed. */
class Gateway {
  readonly sn: string
  /** Temperatures whose event ids it has printed. */
  readonly confirmed: number[] = []
  given = 0
  #daemon: Daemon
  #killed: Daemon | undefined
  readonly #start: () => Daemon
  #isOver = false
  #running: Promise<void>

  constructor(sn: string, start: () => Daemon) {
    this.sn = sn
    this.#start = start
    this.#daemon = start()
    this.#running = this.#run()
  }

  async kill(): Promise<void> {
    const daemon = this.#daemon
    await daemon.kill()
    this.#killed = daemon
  }

  /** Resolves with its exit code when all is sent. */
  async finish(): Promise<number | null> {
    this.#isOver = true
    await this.#running
    // Killed since its last reading.
    if (this.#killed === this.#daemon) this.#daemon = this.#start()
    return this.#daemon.finish(DRAINED_MS_MAX)
  }

  async #run(): Promise<void> {
    await setTimeout(Math.random() * EVERY_MS)
    while (!this.#isOver) {
      const temp = this.given++ / 100
      if (await this.#daemon.give(this.sn, temp)) this.confirmed.push(temp)
      else this.#daemon = this.#start()
      await setTimeout(EVERY_MS)
    }
  }
}

describe(`a fleet of ${DAEMON_COUNT} example daemons`, () => {
  let folder: string
  let port: number
  let token: string
  let service: RunningService
  let proxy: FaultProxy
  let gateways: readonly Gateway[] = []

  before(async function () {
    for (const kind of DAEMONS) needPrograms(this, kind)
    folder = await mkdtemp(join(tmpdir(), 'thermolog-fleet-'))
    port = await freePort()
    token = await createFleetToken(join(folder, 'data'), 'fleet@example.org')
    service = await startService()
    proxy = await FaultProxy.start(service.url)
  })

  after(async () => {
    await Promise.allSettled(gateways.map((gateway) => gateway.kill()))
    await proxy?.close()
    await service?.stop('SIGKILL')
    if (folder !== undefined) await rm(folder, { recursive: true })
  })

  it('has each confirmed reading once, and shows now while a backlog drains', async () => {
    await fillBacklog()
    gateways = Array.from({ length: DAEMON_COUNT }, (_, at) => startGateway(at))
    const endMs = performance.now() + TROUBLE_MS
    proxy.decide = () => NETWORK[Math.floor(Math.random() * NETWORK.length)]!
    await makeTrouble(endMs)
    proxy.use({ kind: 'pass' })
    const oldestMs = await drainBeside()
    const codes = await Promise.all(gateways.map((gateway) => gateway.finish()))
    expect(codes).to.deep.equal(gateways.map(() => 0))
    await checkAll()
    expect(oldestMs, 'age at the dashboard').to.be.below(AGE_MS_MAX)
  })

  function startService(): Promise<RunningService> {
    return serve(join(folder, 'data'), { ...SETTINGS, PORT: String(port) })
  }

  function startGateway(at: number): Gateway {
    const sn = `gateway-${at}`
    const place = { url: proxy.url, token, spool: join(folder, sn) }
    const settings = { RETRY_SECONDS_MAX: '2' }
    return new Gateway(sn, () => new Daemon(kindOf(at), { ...place, settings }))
  }

  async function makeTrouble(endMs: number): Promise<void> {
    let kills = 0
    for (let turn = 1; performance.now() < endMs; turn++) {
      await setTimeout(Math.random() * 500)
      const gateway = gateways[Math.floor(Math.random() * gateways.length)]!
      await gateway.kill().then(
        () => kills++,
        () => undefined,
      )
      if (turn % 60 !== 20) continue
      await service.stop('SIGKILL')
      service = await startService()
    }
    process.stderr.write(`      ${kills} daemons were killed\n`)
  }

  /** @returns the greatest age of the newest reading of a gateway at the dashboard */
  async function drainBeside(): Promise<number> {
    await untilFresh()
    const backlog = startBacklog(service.url)
    const startedAtMs = performance.now()
    const draining = backlog.finish(DRAINED_MS_MAX)
    let isOver = false
    void draining.finally(() => (isOver = true)).catch(() => undefined)
    let oldestMs = 0
    let looks = 0
    while (!isOver) {
      oldestMs = Math.max(oldestMs, await oldestAgeMs())
      looks++
      await setTimeout(200)
    }
    expect(await draining, backlog.errors).to.equal(0)
    const seconds = Math.round((performance.now() - startedAtMs) / 1_000)
    const age = `${Math.round(oldestMs)} ms at most in ${looks} looks`
    process.stderr.write(
      `      while ${BACKLOG} drained in ${seconds} s a reading was ${age} old\n`,
    )
    return oldestMs
  }

  function startBacklog(url: string): Daemon {
    const python = DAEMONS.find(({ name }) => name === 'send.py')!
    return new Daemon(python, { url, token, spool: join(folder, 'backlog') })
  }

  /** Has a daemon without a network take readings of a day. */
  async function fillBacklog(): Promise<void> {
    const daemon = startBacklog('http://127.0.0.1:9')
    const startMs = Date.now() - 24 * HOUR_MS
    for (let n = 0; n < BACKLOG; n++) {
      daemon.put('backlog', n / 100, new Date(startMs + n * 100).toISOString())
      if (n >= AHEAD) expect(await daemon.confirmed()).to.equal(true)
    }
    for (let n = 0; n < Math.min(AHEAD, BACKLOG); n++) await daemon.confirmed()
    await daemon.kill()
  }

  async function untilFresh(): Promise<void> {
    // Less than the limit: what trouble has left behind is over then.
    const isFresh = async () => (await oldestAgeMs()) <= AGE_MS_MAX / 2
    await until('the dashboard shows now', isFresh, FRESH_MS_MAX)
  }

  async function oldestAgeMs(): Promise<number> {
    const names = new Set(gateways.map(({ sn }) => sn))
    const sensors = (await listSensors()).filter(({ sn }) => names.has(sn))
    if (sensors.length < gateways.length) return Infinity
    const times = sensors.map(({ latest }) => Date.parse(latest.timestamp))
    return Date.now() - Math.min(...times)
  }

  async function listSensors() {
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch(new URL('/api/v1/sensors', service.url), { headers })
    return ((await response.json()) as { data: Sensor[] }).data
  }

  async function checkAll(): Promise<void> {
    const sensors = await listSensors()
    let confirmed = 0
    for (const { sn, confirmed: mine, given } of gateways) {
      const found = await storedOf(sensors.find((sensor) => sensor.sn === sn)!.id, HOUR_MS)
      expect(new Set(found).size, `${sn} stored twice`).to.equal(found.length)
      expect(found, sn).to.include.members(mine)
      expect(found.length, sn).to.be.at.most(given)
      confirmed += mine.length
    }
    process.stderr.write(`      ${confirmed} readings were confirmed\n`)
    const old = sensors.find(({ sn }) => sn === 'backlog')!
    expect(await storedOf(old.id, 25 * HOUR_MS)).to.have.lengthOf(BACKLOG)
  }

  async function storedOf(id: number, backMs: number): Promise<number[]> {
    const headers = { authorization: `Bearer ${token}`, accept: 'text/csv' }
    const [from, to] = [-backMs, HOUR_MS].map((ms) => new Date(Date.now() + ms).toISOString())
    const path = `/api/v1/sensors/${id}/measurements?bucket=raw&from=${from}&to=${to}`
    const response = await fetch(new URL(path, service.url), { headers })
    expect(response.headers.get('thermolog-complete')).to.equal('true')
    const lines = (await response.text()).trim().split('\r\n').slice(1)
    return lines.map((line) => Number(line.split(',')[1]))
  }
})

interface Sensor {
  readonly id: number
  readonly sn: string
  readonly latest: { readonly timestamp: string }
}

function kindOf(at: number): DaemonKind {
  const name =
    at % 10 < OF_TEN.python
      ? 'send.py'
      : at % 10 < OF_TEN.python + OF_TEN.typescript
        ? 'send.ts'
        : 'send.sh'
  return DAEMONS.find((kind) => kind.name === name)!
}
