// Goal: a daemon of examples/daemon/ keeps what it has confirmed until the service has it, and
// says so when it cannot. Method: a proxy answers in place of the service; each reading has a
// temperature of its own. test/faults/daemon-lives.test.ts kills it again and again on a bad
// network.

import { expect } from 'chai'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { Daemon, DAEMONS, needPrograms } from '../support/daemon.ts'
import { FaultProxy } from '../support/fault-proxy.ts'
import type { Fault, ProxiedRequest } from '../support/fault-proxy.ts'
import { send } from '../support/http.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { storedTemperatures } from '../support/stored-temperatures.ts'
import { until } from '../support/until.ts'

const HOUR_MS = 3_600_000

for (const kind of DAEMONS) {
  describe(`examples/daemon/${kind.name}`, () => {
    let service: TestService
    let proxy: FaultProxy
    let token: string
    let spool: string

    let users = 0

    before(async function () {
      needPrograms(this, kind)
      service = await startService()
      // Ahead of the daemon's clock, which is that of the machine.
      service.clock.set(
        new Date(Math.max(Date.now(), service.clock.nowMs()) + HOUR_MS).toISOString(),
      )
    })

    after(() => service?.stop())

    beforeEach(async () => {
      proxy = await FaultProxy.start(service.url)
      token = await service.createToken(`${++users}@example.org`)
      spool = join(await mkdtemp(join(tmpdir(), 'thermolog-daemon-')), 'spool')
    })

    afterEach(async () => {
      await proxy.close()
      await rm(join(spool, '..'), { recursive: true })
    })

    const start = () => new Daemon(kind, { url: proxy.url, token, spool })

    const stored = () => storedTemperatures(service.url, token)

    it('sets aside what the service will never take, says so and sends the rest', async () => {
      proxy.useFor(2, { kind: 'cut' })
      const daemon = start()
      for (const temp of [1, 99_999, 2]) await daemon.give('cellar', temp)
      expect(await daemon.finish()).to.equal(0)
      expect(daemon.errors).to.match(/ALARM: .*maximum/)
      expect(await stored()).to.deep.equal([1, 2])
      const again = start()
      await again.give('cellar', 3)
      expect(await again.finish()).to.equal(0)
      expect(again.errors).to.equal('')
    })

    it('keeps what the service finds ahead of time until it does not any more', async () => {
      const ahead = service.clock.nowMs()
      service.clock.set('2026-11-20T00:00:00Z')
      const isAhead = Date.now() > service.clock.nowMs() + HOUR_MS
      const daemon = start()
      await daemon.give('cellar', 1)
      if (isAhead) await until('it is alarmed', () => daemon.errors.includes('ALARM'))
      service.clock.set(instant(ahead))
      expect(await daemon.finish()).to.equal(0)
      if (isAhead) expect(daemon.errors).to.include('timestamp_in_future')
      expect(await stored()).to.deep.equal([1])
    })

    it('keeps everything while its token is not accepted, and says so once', async () => {
      proxy.useFor(3, problem(401, { code: 'invalid_token' }))
      const daemon = start()
      await daemon.give('cellar', 1)
      expect(await daemon.finish()).to.equal(0)
      expect(daemon.errors).to.match(/ALARM: .*(401|token)/)
      expect(daemon.errors.match(/ALARM/g)).to.have.lengthOf(1)
      expect(await stored()).to.deep.equal([1])
    })

    it('does not start without a token', async () => {
      const daemon = new Daemon(kind, { url: proxy.url, token: '', spool })
      expect(await daemon.finish()).to.equal(2)
      expect(daemon.errors).to.match(/THERMOLOG_TOKEN:? is not set/)
    })

    it('keeps everything while a proxy answers with pages of its own', async () => {
      const statuses = [400, 404, 405, 413]
      const headers = { 'content-type': 'text/html' }
      const left = statuses.slice()
      proxy.decide = () => {
        const status = left.shift()
        if (status === undefined) return { kind: 'pass' }
        return { kind: 'answer', status, headers, body: '<h1>nginx</h1>' }
      }
      const daemon = start()
      await daemon.give('cellar', 1)
      expect(await daemon.finish()).to.equal(0)
      for (const status of statuses)
        expect(daemon.errors).to.match(new RegExp(`ALARM: .*${status}`))
      expect(await stored()).to.deep.equal([1])
    })

    it('keeps everything while its address or its request is refused', async () => {
      const refusals = [
        [404, 'not_found'],
        [405, 'method_not_allowed'],
        [411, 'length_required'],
        [400, 'invalid_request'],
      ] as const
      const left = refusals.slice()
      proxy.decide = ({ method }) => {
        const [status, code] = (method === 'POST' && left.shift()) || []
        return status === undefined ? { kind: 'pass' } : problem(status, { code })
      }
      const daemon = start()
      await daemon.give('cellar', 1)
      expect(await daemon.finish()).to.equal(0)
      for (const [status, code] of refusals) {
        expect(daemon.errors).to.match(new RegExp(`ALARM: .*${status} ${code}.*everything is kept`))
      }
      expect(daemon.errors).not.to.match(/aside|not of the service/)
      expect(await stored()).to.deep.equal([1])
    })

    it('halves a batch that is too much, down to the reading that is', async () => {
      const isTooMuch = (temps: readonly number[]) => temps.length > 2 || temps.includes(5)
      proxy.use({ kind: 'cut' })
      const daemon = start()
      for (const temp of [1, 2, 3, 4, 5, 6, 7]) await daemon.give('cellar', temp)
      proxy.decide = (request) =>
        isTooMuch(temperaturesIn(request))
          ? problem(413, { code: 'body_too_large', limit: 300 })
          : { kind: 'pass' }
      expect(await daemon.finish()).to.equal(0)
      expect(daemon.errors).to.match(/ALARM: .*(set aside|body_too_large)/)
      expect(await stored()).to.deep.equal([1, 2, 3, 4, 6, 7])
    })

    it('takes no more than its spool may hold, and says so once', async () => {
      proxy.use({ kind: 'cut' })
      const settings = { SPOOL_MB_MAX: '0.05', SPOOL_FILES_MAX: '5' }
      const daemon = new Daemon(kind, { url: proxy.url, token, spool, settings })
      const kept = await daemon.giveUntilLost('cellar')
      for (let lost = 0; lost < 3; lost++) daemon.put('cellar', kept + 2 + lost)
      await daemon.kill()
      expect(daemon.errors.match(/ALARM: there is no room/g)).to.have.lengthOf(1)
      proxy.use({ kind: 'pass' })
      expect(await start().finish()).to.equal(0)
      expect(await stored()).to.have.lengthOf(kept)
    })

    it('keeps the time that comes with a reading', async () => {
      const daemon = start()
      const atMs = Date.now() - 1_234_567
      const times = [instant(atMs), instant(atMs + HOUR_MS).replace('Z', '+01:00')]
      for (const [at, time] of times.entries()) await daemon.give('cellar', at, time)
      daemon.put('cellar', 9, 'yesterday')
      expect(await daemon.finish()).to.equal(0)
      expect(daemon.errors).to.match(/^ALARM: no .*yesterday\n$/)
      const { body } = await send(service.url, { path: '/api/v1/sensors', token })
      expect(body.data[0].latest.timestamp).to.equal(instant(atMs))
      expect(await stored()).to.deep.equal([0, 1])
    })

    it('holds what is not permitted, and sends it again', async () => {
      proxy.decide = (request) => {
        const ids = eventIdsIn(request)
        if (ids.length === 0) return { kind: 'pass' }
        const errors = ids.map((id, index) => ({ code: 'unknown_sensor', index, event_id: id }))
        proxy.use({ kind: 'pass' })
        return problem(403, { code: 'unknown_sensor', errors })
      }
      const daemon = start()
      await daemon.give('cellar', 1)
      expect(await daemon.finish()).to.equal(0)
      expect(daemon.errors).to.match(/ALARM: .*unknown_sensor/)
      expect(await stored()).to.deep.equal([1])
    })

    it('never sends a conflict again', async () => {
      proxy.decide = (request) => {
        if (request.method === 'GET') return { kind: 'pass' }
        const measurements = eventIdsIn(request).map((id) => ({ event_id: id, status: 'conflict' }))
        return { kind: 'answer', status: 200, body: JSON.stringify({ data: { measurements } }) }
      }
      const daemon = start()
      await daemon.give('cellar', 1)
      expect(await daemon.finish()).to.equal(0)
      expect(daemon.errors).to.match(/ALARM: .*conflict/)
      expect(proxy.requests.filter(({ method }) => method === 'POST')).to.have.lengthOf(1)
    })

    it('sends no more than 500 at once', async () => {
      proxy.use({ kind: 'cut' })
      const daemon = start()
      const count = kind.name === 'send.sh' ? 20 : 1_100
      for (let temp = 1; temp <= count; temp++) await daemon.give('cellar', temp)
      proxy.use({ kind: 'pass' })
      expect(await daemon.finish()).to.equal(0)
      expect(await stored()).to.have.lengthOf(count)
      const sizes = proxy.requests.map((request) => eventIdsIn(request).length)
      expect(Math.max(...sizes)).to.be.at.most(500)
    })
  })
}

function problem(status: number, members: object): Fault {
  const headers = { 'content-type': 'application/problem+json; charset=utf-8' }
  return { kind: 'answer', status, headers, body: JSON.stringify({ status, ...members }) }
}

/** Of a request that asks for something, none. */
function eventIdsIn(request: ProxiedRequest): string[] {
  return measurementsIn(request).map(({ event_id: id }) => id)
}

function temperaturesIn(request: ProxiedRequest): number[] {
  return measurementsIn(request).map(({ temp }) => temp)
}

function measurementsIn({ method, headers, body }: ProxiedRequest) {
  if (method === 'GET') return []
  const text = headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body
  const { measurements } = JSON.parse(text.toString('utf8')) as {
    readonly measurements: readonly { readonly event_id: string; readonly temp: number }[]
  }
  return measurements
}

function instant(atMs: number): string {
  return new Date(atMs).toISOString()
}
