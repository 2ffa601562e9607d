// The server's own clock is wrong for a while.

import { expect } from 'chai'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createService } from '../../../src/compose.ts'
import type { Service } from '../../../src/compose.ts'
import { loadConfig } from '../../../src/config.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/domain/time.ts'
import type { Operations } from '../../../src/commands/operations.ts'
import { connectOperations } from '../../../src/socket/client.ts'
import { operationsSocketPath } from '../../../src/socket/path.ts'
import { FakeClock } from '../../support/clock.ts'
import { closeKept, send } from '../../support/http.ts'
import { startInline } from '../../support/inline-threads.ts'
import { RecordingLog } from '../../support/log.ts'
import { until } from '../../support/until.ts'

const NOW = '2026-11-20T10:15:02.113Z'

describe('a clock of the server that is wrong', () => {
  let dataDir: string
  let clock: FakeClock
  let log: RecordingLog
  let service: Service
  let url: string
  let operations: Operations
  let token: string

  const start = async (at = NOW) => {
    clock = new FakeClock(at)
    log = new RecordingLog()
    const config = loadConfig({ PORT: '0', DATA_DIR: dataDir })
    service = await createService(config, { clock, log, startThread: startInline })
    ;({ url } = await service.start())
    const client = await connectOperations(operationsSocketPath(dataDir))
    if (client === undefined) throw new Error('the service has no socket')
    ;({ operations } = client)
  }
  const stop = () => {
    closeKept()
    return service.stop()
  }
  const startAgain = async (at: string) => {
    await stop()
    await start(at)
  }

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'thermolog-'))
    await start()
    await operations.run('user create', { email: 'ana@example.org' })
    ;({ token } = await operations.run('token create', {
      user: 'ana@example.org',
      name: 'gateway',
    }))
  })
  afterEach(async () => {
    await stop()
    await rm(dataDir, { recursive: true })
  })

  const post = async (more: object = {}) => {
    const body = { sn: 'cellar', temp: 1, ...more }
    const path = '/api/v1/measurements'
    const answer = await send(url, { method: 'POST', path, token, body })
    return answer.body.code ?? answer.body.data.timestamp
  }
  const write = async (line: string) =>
    (
      await send(url, {
        method: 'POST',
        path: '/write?precision=ms',
        token,
        body: Buffer.from(line),
      })
    ).status
  const ready = async () => (await send(url, { path: '/readyz' })).body
  const sensors = async () => (await send(url, { path: '/api/v1/sensors', token })).body.data
  const refused = async () => (await operations.run('refused list', {})).refused!.entries

  it('has nothing accepted while it is ahead, and all else goes on at the right time', async () => {
    expect(await post()).to.equal(NOW)
    clock.moveMs(400 * DAY_MS)
    expect(await post()).to.equal('clock_unset')
    expect(await write('t temp=1')).to.equal(503)
    const { body, headers } = await send(url, { path: '/readyz' })
    const { code, detail } = body
    expect(headers).not.to.have.property('date')
    expect([code, detail]).to.deep.equal([
      'clock_unset',
      "The server's clock was moved ahead by 400 days: it is not believed until it is back, or " +
        'has stood still for a minute.',
    ])
    expect((await sensors())[0]).to.include({ online: true })
    clock.moveMs(-400 * DAY_MS)
    expect(await post()).to.equal(NOW)
    expect((await ready()).status).to.equal('ready')
    expect((await send(url, { path: '/readyz' })).headers).to.have.property('date')
  })

  it('is believed when it has stood still, and what was refused as ahead is stored', async () => {
    const nowMs = clock.nowMs()
    const rightMs = nowMs + 3 * DAY_MS
    expect(await write(`t temp=1 ${rightMs}\nlocal temp=2 ${rightMs + 2 * HOUR_MS}`)).to.equal(400)
    expect(await refused()).to.have.lengthOf(2)
    clock.moveMs(3 * DAY_MS)
    expect(await post()).to.equal('clock_unset')
    clock.advanceMs(MINUTE_MS)
    await until('the clock is believed', async () => (await ready()).status === 'ready')
    await until('it is tried again', async () => (await refused()).length === 1)
    expect((await refused())[0]?.content).to.match(/^local/)
    expect((await sensors()).map(({ sn }: { sn: string }) => sn)).to.deep.equal(['t'])
    expect(await post()).to.equal(new Date(clock.nowMs()).toISOString())
  })

  it('stores nothing by itself whose time has come', async () => {
    await write(`t temp=1 ${clock.nowMs() + 2 * HOUR_MS}`)
    clock.advanceMs(3 * HOUR_MS)
    clock.moveMs(10 * MINUTE_MS)
    expect(await post()).to.equal('clock_unset')
    clock.advanceMs(MINUTE_MS)
    await until('the clock is believed', async () => (await ready()).status === 'ready')
    expect(await post()).not.to.equal('clock_unset')
    await startAgain(new Date(clock.nowMs()).toISOString())
    expect(await refused()).to.have.lengthOf(1)
  })

  it('before what was received is believed when an operator says so, until more is', async () => {
    await startAgain('2026-11-28T10:15:02.113Z')
    expect(await post()).to.equal('2026-11-28T10:15:02.113Z')
    await startAgain('2026-11-27T10:15:02.113Z')
    expect(await post()).to.equal('2026-11-27T10:15:02.113Z')
    await startAgain('2026-11-26T10:15:02.112Z')
    expect(await post()).to.equal('clock_unset')
    expect((await ready()).detail).to.contain(
      'a measurement was received at 2026-11-27T10:15:02.113Z',
    )
    const accepted = await operations.run('clock accept', {})
    expect(accepted.newestReceiptMs).to.equal(Date.parse('2026-11-27T10:15:02.113Z'))
    expect(await post()).to.equal('2026-11-26T10:15:02.112Z')
    await startAgain('2026-11-25T12:00:00.000Z')
    expect(await post()).to.equal('2026-11-25T12:00:00.000Z')
    await startAgain('2026-11-24T11:59:59.999Z')
    expect(await post()).to.equal('clock_unset')
  })

  it('long after what was received is believed, and told to operators', async () => {
    await post()
    await startAgain('2026-12-21T10:15:02.113Z')
    expect(await post()).to.equal('2026-12-21T10:15:02.113Z')
    expect((await ready()).warnings[0]).to.contain('31 days after the newest measurement')
    await operations.run('clock accept', {})
    expect(await ready()).not.to.have.property('warnings')
  })
})
