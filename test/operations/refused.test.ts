// What was refused is kept, told and tried again: nobody reads the responses of these senders.

import { expect } from 'chai'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../../src/config.ts'
import { openCore } from '../../src/core/open-core.ts'
import { RefusedRetries } from '../../src/operations/refused-retries.ts'
import { sendUnchecked } from '../support/http.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

const NOW_S = Date.UTC(2026, 10, 20, 10, 15) / 1_000
const HOUR_S = 3_600

describe('what was refused', () => {
  let service: TestService
  let token: string

  const start = async (settings: Record<string, string> = {}) => {
    service = await startService(settings)
    token = await service.createToken('a@example.org')
  }
  const write = (body: string) =>
    sendUnchecked(service.url, {
      method: 'POST',
      path: '/api/v2/write?precision=s',
      body,
      headers: { authorization: `Token ${token}` },
    })
  const list = async () => (await service.operations.listRefused({})).entries
  const readings = async () => {
    const answer = await sendUnchecked(service.url, { path: '/api/v1/sensors', token })
    const found = answer.body.data as { sn: string; latest: { raw: number; timestamp: string } }[]
    return found.map(({ sn, latest }) => `${sn} ${latest.raw} ${latest.timestamp}`)
  }

  afterEach(() => service.stop())

  it('is kept with its reason, equal lines once with a count', async () => {
    await start()
    for (let time = 0; time < 3; time++) await write(`café temp=-300 ${NOW_S}\nno line`)
    const told = (await list()).map(({ content, reason, count, kind }) => [
      kind,
      content,
      reason,
      count,
    ])
    expect(told).to.deep.equal([
      ['line', `café temp=-300 ${NOW_S}`, 'temp is outside -273.15 to 10000 degrees Celsius', 3],
      ['line', 'no line', 'missing fields', 3],
    ])
  })

  it('is stored when an operator has made it possible, and only once', async () => {
    await start({ AUTO_REGISTER: 'false' })
    await write(`t,sn=0011223344 temp=1 ${NOW_S}\nt,sn=0011223344 temp=2`)
    const path = '/api/v1/measurements/batch?on_invalid=skip'
    const measurements = [
      { sn: '0011223355', temp: 3 },
      { sn: 'x', temp: 'warm' },
    ]
    await sendUnchecked(service.url, { method: 'POST', path, token, body: { measurements } })
    expect((await list()).map(({ kind }) => kind)).to.have.members([
      'line',
      'line',
      'element',
      'element',
    ])
    const { operations } = service
    expect(await operations.retryRefused({})).to.deep.equal({ count: 0 })
    for (const serialNumber of ['0011223344', '0011223355']) {
      await operations.createSensor({ user: 'a@example.org', serialNumber })
    }
    service.clock.advanceMs(60_000)
    expect(await operations.retryRefused({})).to.deep.equal({ count: 3 })
    expect(await readings()).to.deep.equal([
      '0011223344 2 2026-11-20T10:15:02.113Z',
      '0011223355 3 2026-11-20T10:15:02.113Z',
    ])
    const [left] = await list()
    expect(left?.content).to.equal('{"sn":"x","temp":"warm"}')
    expect(await operations.dropRefused({ ids: [left!.id] })).to.deep.equal({ count: 1 })
    expect(await list()).to.deep.equal([])
  })

  it('is kept in part if it is too large, and never tried again', async () => {
    await start()
    const tags = Array.from({ length: 257 }, (_, at) => `,t${at}=é`).join('')
    const ahead = NOW_S + HOUR_S
    const lines = [`t,sn=0011223344 temp=1,s="${'x'.repeat(65_536)}" ${ahead}`, `t${tags} temp=1`]
    await write([...lines, `t,sn=0011223344 temp=2 ${NOW_S}`].join('\n'))
    const told = async () =>
      (await list()).map(({ kind, reason, content, retryAtMs }) => [
        kind,
        reason,
        Buffer.byteLength(content),
        lines.some((line) => line.startsWith(content)),
        retryAtMs,
      ])
    const kept = [
      ['cut-line', 'more than 65536 bytes; its beginning is kept', 1_024, true, null],
      ['cut-line', 'more than 256 tags; its beginning is kept', 1_024, true, null],
    ]
    expect(await told()).to.deep.equal(kept)
    expect(await service.operations.retryRefused({})).to.deep.equal({ count: 0 })
    expect(await told()).to.deep.equal(kept)
    expect(await readings()).to.deep.equal(['0011223344 2 2026-11-20T10:15:00.000Z'])
  })

  it('is to be tried again when its time comes, up to a day ahead', async () => {
    await start()
    await write(`t temp=1 ${NOW_S + HOUR_S}\nt temp=2 ${NOW_S + 25 * HOUR_S}`)
    const due = (await list()).map(({ retryAtMs }) => retryAtMs)
    expect(due).to.deep.equal([(NOW_S + HOUR_S) * 1_000, null])
  })

  it('is stored by itself when its time has come', async () => {
    await start()
    const dataDir = await mkdtemp(join(tmpdir(), 'thermolog-'))
    const config = loadConfig({ DATA_DIR: dataDir })
    const { clock, log } = service
    const core = await openCore(config, { clock, log })
    const user = await core.controlWriter.createUser('a@example.org', 'A')
    const receivedAtMs = clock.nowMs()
    const retryAtMs = receivedAtMs + HOUR_S * 1_000
    const line = { kind: 'line', content: `t temp=1 ${retryAtMs}`, unitNs: '1000000' } as const
    const of = { userId: user!.id, tokenId: 1, serialNumberPrefix: '', reason: 'too early' }
    await core.controlWriter.keepRefused([{ ...line, ...of, receivedAtMs, retryAtMs }])
    const retries = new RefusedRetries({ ...core, clock, log }, config)
    await retries.run()
    expect((await core.control.countRefused()).count).to.equal(1)
    clock.advanceMs(HOUR_S * 1_000)
    await retries.run()
    expect((await core.control.countRefused()).count).to.equal(0)
    expect(await core.control.listSensors(user!.id)).to.have.lengthOf(1)
    await core.close()
    await rm(dataDir, { recursive: true })
  })

  it('tells of each series without a temperature its last line and how often it came', async () => {
    await start()
    for (const percent of [40, 41]) {
      await write(`%,entity_id=feuchte_küche,_seq=${percent} value=${percent}\nkWh value=1`)
    }
    const listSkipped = () => service.operations.listSkipped({})
    await until('both are noted', async () => (await listSkipped()).length === 2)
    const told = (await listSkipped()).map(({ line, count }) => [count, line])
    expect(told).to.have.deep.members([
      [2, '%,entity_id=feuchte_küche,_seq=41 value=41'],
      [2, 'kWh value=1'],
    ])
    const many = Array.from({ length: 5_000 }, (_, at) => `m${at} value=1`).join('\n')
    await write(many)
    await until('as many are noted as are kept', async () => {
      return (await listSkipped()).length === 4_096
    })
    await service.operations.deleteUser({ user: 'a@example.org' })
    expect(await listSkipped()).to.deep.equal([])
  })

  it('goes with its user, and has room for the newest', async () => {
    await start()
    const text = 'x'.repeat(60_000)
    for (const name of 'abc') {
      const lines = Array.from({ length: 60 }, (_, at) => `${name}${at + 10}${text}`)
      await write(lines.join('\n'))
    }
    const { count, dropped, entries } = await service.operations.listRefused({})
    expect([count, dropped, entries.at(-1)?.content[0]]).to.deep.equal([139, 41, 'c'])
    await service.operations.deleteUser({ user: 'a@example.org' })
    expect(await list()).to.deep.equal([])
  })

  it('is counted', async () => {
    await start()
    await write(`t temp=1 ${NOW_S}\nt temp=2\nt humidity=1\nno line`)
    const { text } = await sendUnchecked(service.url, { path: '/metrics' })
    const counts = Array.from(text.matchAll(/line_points_total\{outcome="(\w+)"\} (\d+)/g))
    expect(counts.map(([, outcome, count]) => `${outcome} ${count}`)).to.deep.equal([
      'created 2',
      'duplicate 0',
      'skipped 1',
      'unkeyed 1',
      'refused 1',
    ])
  })
})
