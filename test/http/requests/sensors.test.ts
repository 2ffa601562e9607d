// Sensors over HTTP: seen, changed and deleted by their owner, and by nobody else.

import { expect } from 'chai'
import { send } from '../../support/http.ts'
import { startService } from '../../support/service.ts'
import type { TestService } from '../../support/service.ts'

describe('sensors', () => {
  let service: TestService
  let token: string

  beforeEach(async () => {
    service = await startService()
    token = await service.createToken('a@example.org')
    await send(service.url, {
      method: 'POST',
      path: '/api/v1/measurements',
      token,
      body: { sn: 'A1', temp: 11.75, timestamp: '2026-11-20T10:15:00Z' },
    })
  })

  afterEach(() => service.stop())

  const list = async (as = token) =>
    (await send(service.url, { path: '/api/v1/sensors', token: as })).body.data

  it('shows raw and compensated temperatures', async () => {
    const { body } = await send(service.url, {
      method: 'PATCH',
      path: '/api/v1/sensors/1',
      token,
      body: { alias: ' Cellar ', compensation: -0.4 },
    })
    expect(body.data).to.deep.equal({
      id: 1,
      sn: 'A1',
      alias: 'Cellar',
      compensation: -0.4,
      online: true,
      last_seen_at: '2026-11-20T10:15:02.113Z',
      latest: { timestamp: '2026-11-20T10:15:00.000Z', temp: 11.35, raw: 11.75 },
      created_at: body.data.created_at,
    })
    expect(await list()).to.deep.equal([body.data])
    const alone = await send(service.url, { path: '/api/v1/sensors/1', token })
    expect(alone.body.data).to.deep.equal(body.data)
  })

  it('shows nobody the sensor of another user', async () => {
    const other = await service.createToken('b@example.org')
    const { body } = await send(service.url, { path: '/api/v1/sensors/1', token: other })
    expect(body.code).to.equal('sensor_not_found')
  })

  it('works out whether a sensor is online when it is asked', async () => {
    service.clock.set('2026-11-20T10:30:00.000Z')
    expect((await list())[0].online).to.equal(true)
    service.clock.advanceMs(1)
    expect((await list())[0].online).to.equal(false)
  })

  it('deletes a sensor once', async () => {
    const remove = { method: 'DELETE', path: '/api/v1/sensors/1', token }
    const first = await send(service.url, remove)
    expect([first.status, first.text]).to.deep.equal([204, ''])
    expect(await list()).to.deep.equal([])
    expect((await send(service.url, remove)).body.code).to.equal('sensor_not_found')
  })

  it('are not there for another user', async () => {
    const other = await service.createToken('b@example.org')
    expect(await list(other)).to.deep.equal([])
    for (const method of ['PATCH', 'DELETE']) {
      const path = '/api/v1/sensors/1'
      const answer = await send(service.url, { method, path, token: other, body: { alias: 'x' } })
      expect(answer.body.code).to.equal('sensor_not_found')
    }
    const path = '/api/v1/sensors/1/measurements'
    expect((await send(service.url, { path, token: other })).status).to.equal(404)
  })
})
