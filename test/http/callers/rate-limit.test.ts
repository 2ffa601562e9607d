import { expect } from 'chai'
import { send } from '../../support/http.ts'
import { startService } from '../../support/service.ts'
import type { TestService } from '../../support/service.ts'

describe('RateLimits', () => {
  let service: TestService
  let token: string

  const start = async (settings: Record<string, string>) => {
    service = await startService(settings)
    token = await service.createToken('a@example.org')
  }
  const me = (as = token) => send(service.url, { path: '/api/v1/me', token: as })
  const submit = (count: number) => {
    const measurements = Array.from({ length: count }, () => ({ sn: 'A1', temp: 1 }))
    const path = '/api/v1/measurements/batch'
    return send(service.url, { method: 'POST', path, token, body: { measurements } })
  }

  afterEach(() => service.stop())

  it('counts the requests of each token by itself', async () => {
    await start({ RATE_LIMIT_REQUESTS: '2' })
    expect((await me()).headers['ratelimit']).to.match(/^"requests";r=1;t=60, /)
    expect((await me()).headers['ratelimit']).to.match(/^"requests";r=0;/)
    const { status, body, headers } = await me()
    expect([status, body.code]).to.deep.equal([429, 'rate_limited'])
    expect(Number(headers['retry-after'])).to.be.within(1, 60)
    expect(headers['ratelimit']).to.match(/^"requests";r=0;/)
    expect((await me(await service.createToken('a@example.org'))).status).to.equal(200)
  })

  it('admits a batch whole while any allowance is left', async () => {
    await start({ RATE_LIMIT_MEASUREMENTS: '10' })
    expect((await submit(9)).headers['ratelimit']).to.include('"measurements";r=1;')
    expect((await submit(9)).status).to.equal(201)
    const { status, headers } = await submit(11)
    expect(status).to.equal(429)
    expect(headers['ratelimit']).to.include('"measurements";r=0;')
    expect((await me()).status).to.equal(200)
  })

  it('takes for a submission that is not valid what its elements would have taken', async () => {
    await start({ RATE_LIMIT_MEASUREMENTS: '1000' })
    let left = 1_000
    for (const path of ['/api/v1/measurements', '/api/v1/measurements/batch']) {
      const body = { measurements: Array.from({ length: 100 }, () => ({})) }
      const { status, headers } = await send(service.url, { method: 'POST', path, token, body })
      left -= 100
      expect(
        [status, headers['ratelimit']?.includes(`"measurements";r=${left};`)],
        path,
      ).to.deep.equal([422, true])
    }
  })

  it('takes for a large element that is skipped what reading it takes', async () => {
    await start({ RATE_LIMIT_MEASUREMENTS: '1000' })
    const elements = [
      { measurement: { sn: 'A1', temp: 21.5 }, left: 998 },
      { measurement: { sn: 'A1', temp: 21.5, note: 'x'.repeat(100_000) }, left: 607 },
    ]
    for (const { measurement, left } of elements) {
      const path = '/api/v1/measurements/batch?on_invalid=skip'
      const body = { measurements: [measurement, { sn: 'B2', temp: 'warm' }] }
      const { headers } = await send(service.url, { method: 'POST', path, token, body })
      expect(headers['ratelimit']).to.include(`"measurements";r=${left};`)
    }
  })

  it('admits live measurements beside a large element that is skipped', async () => {
    await start({ RATE_LIMIT_MEASUREMENTS: '100' })
    expect((await submit(450)).status).to.equal(201)
    const large = { sn: 'B2', temp: 'warm', note: 'x'.repeat(10_000) }
    const path = '/api/v1/measurements/batch?on_invalid=skip'
    const body = { measurements: [{ sn: 'A1', temp: 21.5 }, large] }
    const { status, headers } = await send(service.url, { method: 'POST', path, token, body })
    expect([status, headers['ratelimit']?.includes('"live";r=8;')]).to.deep.equal([201, true])
  })

  it('admits no more bodies of lines for being sent at once', async () => {
    await start({ RATE_LIMIT_MEASUREMENTS: '3000' })
    const write = (room: number) => {
      const lines = Array.from({ length: 2_000 }, (_, at) => `room${room} temp=${at} 1795169700`)
      const path = '/api/v2/write?precision=s'
      return send(service.url, { method: 'POST', path, token, body: lines.join('\n') })
    }
    const answers = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(write))
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b)
    expect(statuses).to.deep.equal([204, 204, 429, 429, 429, 429, 429, 429])
  })

  it('admits what is measured now while a backlog has spent the allowance', async () => {
    await start({ RATE_LIMIT_MEASUREMENTS: '30', OFFLINE_AFTER: '15m' })
    const first = await submit(40)
    expect([first.status, first.headers['ratelimit-policy']]).to.deep.equal([
      201,
      '"requests";q=6000;w=60, "measurements";q=30;w=60, "live";q=3;w=60',
    ])
    expect(first.headers['ratelimit']).to.include('"live";r=3;')
    expect((await submit(11)).status).to.equal(429)
    const path = '/api/v1/measurements'
    const measuredAt = (timestamp: string) =>
      send(service.url, { method: 'POST', path, token, body: { sn: 'A1', temp: 1, timestamp } })
    expect((await measuredAt('2026-11-20T10:00:02.113Z')).status).to.equal(429)
    const live = await measuredAt('2026-11-20T10:00:02.114Z')
    expect(live.status).to.equal(201)
    expect(live.headers['ratelimit']).to.include('"live";r=2;')
    expect((await submit(10)).status).to.equal(201)
    expect((await submit(1)).status).to.equal(429)
  })

  it('refuses a submission without reading it when the allowance is spent', async () => {
    await start({ RATE_LIMIT_MEASUREMENTS: '1' })
    expect((await submit(1)).status).to.equal(201)
    expect((await submit(1)).status).to.equal(201)
    const body = 'no JSON at all'
    const path = '/api/v1/measurements'
    expect((await send(service.url, { method: 'POST', path, token, body })).status).to.equal(429)
  })

  it('tells a far address of too many invalid tokens to wait, but no valid one', async () => {
    await start({ TRUST_PROXY: '127.0.0.1' })
    const meFrom = (from: string, as: string) =>
      send(service.url, { path: '/api/v1/me', token: as, headers: { 'x-forwarded-for': from } })
    const far = '203.0.113.7'
    for (let time = 0; time < 60; time++) {
      expect((await meFrom(far, 'thd_live_x')).status).to.equal(401)
      expect((await meFrom('127.0.0.2', 'thd_live_x')).status).to.equal(401)
    }
    const { status, headers } = await meFrom(far, 'thd_live_y')
    expect(status).to.equal(429)
    expect(Number(headers['retry-after'])).to.be.within(1, 60)
    expect((await meFrom(far, token)).status).to.equal(200)
    expect((await meFrom('203.0.113.8', 'thd_live_x')).status).to.equal(401)
    for (const near of ['127.0.0.2', '127.0.0.1']) {
      expect((await meFrom(near, 'thd_live_y')).status).to.equal(401)
    }
  })

  it('is off at 0', async () => {
    await start({ RATE_LIMIT_REQUESTS: '0', RATE_LIMIT_MEASUREMENTS: '0' })
    const { status, headers } = await submit(1)
    expect(status).to.equal(201)
    expect(headers).not.to.have.any.keys('ratelimit', 'ratelimit-policy')
  })

  it('names only the allowances that there are', async () => {
    await start({ RATE_LIMIT_REQUESTS: '0', RATE_LIMIT_MEASUREMENTS: '5' })
    const { headers } = await submit(1)
    expect(headers['ratelimit']).to.match(/^"measurements";r=4;t=60, "live";r=1;t=60$/)
    expect(headers['ratelimit-policy']).to.equal('"measurements";q=5;w=60, "live";q=1;w=60')
  })
})
