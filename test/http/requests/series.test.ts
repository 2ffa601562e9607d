// Histories of several sensors: each is what its own history is, in the order asked for.

import { expect } from 'chai'
import { send, sendBatch } from '../../support/http.ts'
import { startService } from '../../support/service.ts'
import type { TestService } from '../../support/service.ts'

const HOURS = 'from=2026-11-20T08:00:00Z&to=2026-11-20T10:00:00Z&bucket=hour'

describe('histories of several sensors', () => {
  let service: TestService
  let token: string

  before(async () => {
    service = await startService()
    token = await service.createToken('a@example.org')
    await submit([
      { sn: 'A1', temp: 10, timestamp: '2026-11-20T08:10:00Z' },
      { sn: 'B-2', temp: 11.5, timestamp: '2026-11-20T08:20:00Z' },
      { sn: 'B-2', temp: 12, timestamp: '2026-11-20T09:20:00Z' },
      { sn: 'C3', temp: 1, timestamp: '2026-11-19T09:20:00Z' },
    ])
  })

  after(() => service.stop())

  const submit = (measurements: unknown[]) => sendBatch(service.url, token, measurements)
  const ask = (query: string, headers: Record<string, string> = {}) =>
    send(service.url, { path: `/api/v1/measurements?${query}`, token, headers })

  it('are those of each, in the order asked for', async () => {
    const { body } = await ask(`sensors=2,3,1&${HOURS}`)
    const { series, ...envelope } = body.data
    expect(envelope).to.deep.equal({
      from: '2026-11-20T08:00:00.000Z',
      to: '2026-11-20T10:00:00.000Z',
      bucket: 'hour',
      tz: 'UTC',
    })
    const alone = [2, 3, 1].map(async (id) => {
      const path = `/api/v1/sensors/${id}/measurements?${HOURS}`
      const { sensor, complete, points } = (await send(service.url, { path, token })).body.data
      return { sensor, complete, points }
    })
    expect(series).to.deep.equal(await Promise.all(alone))
    expect(series[0].points).to.have.lengthOf(2)
  })

  it('name the sensor in each line of CSV and NDJSON', async () => {
    const csv = await ask(`sensors=1,2&${HOURS}`, { accept: 'text/csv' })
    expect(csv.text).to.equal(
      'sensor_id,sn,timestamp,temp,min,max,count\r\n' +
        '1,A1,2026-11-20T08:00:00.000Z,10,10,10,1\r\n' +
        '2,B-2,2026-11-20T08:00:00.000Z,11.5,11.5,11.5,1\r\n' +
        '2,B-2,2026-11-20T09:00:00.000Z,12,12,12,1\r\n',
    )
    const lines = await ask(`sensors=2&${HOURS}`, { accept: 'application/x-ndjson' })
    expect(JSON.parse(lines.text.split('\n')[0] ?? '')).to.deep.equal({
      sensor_id: 2,
      sn: 'B-2',
      timestamp: '2026-11-20T08:00:00.000Z',
      temp: 11.5,
      min: 11.5,
      max: 11.5,
      count: 1,
    })
  })

  it('are known again until one of the sensors has changed', async () => {
    const first = await ask(`sensors=1,3&${HOURS}`)
    const headers = { 'if-none-match': String(first.headers.etag) }
    expect((await ask(`sensors=1,3&${HOURS}`, headers)).status).to.equal(304)
    expect((await ask(`sensors=3,1&${HOURS}`, headers)).status).to.equal(200)
    await submit([{ sn: 'C3', temp: 2, timestamp: '2026-11-20T08:30:00Z' }])
    const second = await ask(`sensors=1,3&${HOURS}`, headers)
    expect(second.body.data.series[1].points).to.have.lengthOf(1)
  })

  it('name whatever sensor is not the caller’s before what is wrong otherwise', async () => {
    const { status, body } = await ask('sensors=1,77,78&bucket=year')
    expect([status, body.code]).to.deep.equal([404, 'sensor_not_found'])
    expect(body.errors).to.have.lengthOf(2)
    const other = await service.createToken('b@example.org')
    const answer = await send(service.url, { path: '/api/v1/measurements?sensors=1', token: other })
    expect(answer.status).to.equal(404)
  })

  for (const query of ['', 'sensors=', 'sensors=1,', 'sensors=0', `sensors=${'1,'.repeat(50)}1`]) {
    it(`want 1 to 50 ids: ${query.slice(0, 12)}`, async () => {
      const { status, body } = await ask(query)
      expect(status).to.equal(422)
      expect(body.errors[0].pointer).to.equal('/sensors')
    })
  }

  it('have 200,000 buckets together at most', async () => {
    const sensors = Array.from({ length: 50 }, () => 1).join()
    const day = 'from=2026-11-17T00:00:00Z&to=2026-11-20T00:00:00Z&bucket=minute'
    const { status, body } = await ask(`sensors=${sensors}&${day}`)
    expect(status).to.equal(422)
    expect(body).to.include({
      code: 'range_too_large',
      max_period: 'P2DT18H40M',
      suggested_bucket: '5min',
    })
  })
})
