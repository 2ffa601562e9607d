import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { explanationOf } from '../../src/http/answers/problems.ts'
import { createFleetToken } from '../support/fleet-token.ts'
import { send } from '../support/http.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

describe('the public endpoints', () => {
  let service: TestService

  before(async () => {
    service = await startService()
  })

  after(() => service.stop())

  it('tell that the process answers', async () => {
    expect((await send(service.url, { path: '/healthz' })).body).to.deep.equal({ status: 'ok' })
  })

  it('tell that measurements are accepted and what is not in the store yet', async () => {
    const { status, body } = await send(service.url, { path: '/readyz' })
    expect(status).to.equal(200)
    expect(body).to.have.all.keys('status', 'backlog', 'measurement_store')
  })

  it('tell of a proxy that is not named once one has been used, for good', async () => {
    const behind = await startService()
    const ready = async () => (await send(behind.url, { path: '/readyz' })).body
    expect(await ready()).not.to.have.property('warnings')
    const headers = { 'x-forwarded-for': '198.51.100.1' }
    await send(behind.url, { path: '/api/v1/sensors', headers })
    behind.clock.set('2027-11-20T10:15:02.113Z')
    await send(behind.url, { path: '/api/v1/sensors' })
    expect((await ready()).warnings).to.deep.equal([
      'Requests come through a proxy that TRUST_PROXY does not name.',
    ])
    await behind.stop()
    const named = await startService({ TRUST_PROXY: '127.0.0.1' })
    await send(named.url, { path: '/api/v1/sensors', headers })
    expect((await send(named.url, { path: '/readyz' })).body).not.to.have.property('warnings')
    await named.stop()
  })

  it('tell why measurements are not accepted', async () => {
    service.clock.set('2020-01-01T00:00:00Z')
    const { status, body, headers } = await send(service.url, { path: '/readyz' })
    service.clock.set('2026-11-20T10:15:02.113Z')
    expect([status, body.code]).to.deep.equal([503, 'clock_unset'])
    expect(body.backlog.entries).to.equal(0)
    expect(headers['retry-after']).to.equal('30')
  })

  it('tell that the disk has too little room, before a submission is read', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'thermolog-full-'))
    const token = await createFleetToken(dataDir, 'a@example.org')
    const full = await startService({ DATA_DIR: dataDir, MIN_FREE_DISK: '99999999TiB' })
    const ready = await send(full.url, { path: '/readyz' })
    expect([ready.status, ready.body.code]).to.deep.equal([503, 'storage_full'])
    const path = '/api/v1/measurements'
    const body = { sn: 'cellar', temp: 1 }
    const answer = await send(full.url, { method: 'POST', path, token, body })
    expect([answer.status, answer.body.code]).to.deep.equal([503, 'storage_full'])
    expect(Number(answer.headers['retry-after'])).to.be.greaterThan(0)
    expect((await send(full.url, { path: '/api/v1/sensors', token })).status).to.equal(200)
    await full.stop()
  })

  it('explain each code to a program', async () => {
    for (const code of ['validation_failed', 'timestamp_in_future']) {
      const { status, body } = await send(service.url, { path: `/problems/${code}` })
      expect(status).to.equal(200)
      expect(body).to.deep.equal({ code, ...explanationOf(code) })
    }
  })

  it('explain each code to a person', async () => {
    const headers = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
    const answer = await send(service.url, { path: '/problems/missing_token', headers })
    expect(answer.headers['content-type']).to.match(/^text\/html/)
    expect(answer.text).to.include('Bearer &lt;token>')
  })

  for (const code of ['nothing', 'constructor', '__proto__', 'validation_failed/x', '']) {
    it(`have no explanation of "${code}"`, async () => {
      const { status, body } = await send(service.url, { path: `/problems/${code}` })
      expect([status, body.code]).to.deep.equal([404, 'not_found'])
    })
  }

  it('allow reading alone', async () => {
    const { status, headers } = await send(service.url, { path: '/healthz', method: 'POST' })
    expect([status, headers.allow]).to.deep.equal([405, 'GET, HEAD'])
    expect((await send(service.url, { path: '/elsewhere' })).body.code).to.equal('not_found')
  })
})
