// Batches with `on_invalid=skip`: what is valid is stored, the rest comes back as rejected.

import { expect } from 'chai'
import { send } from '../../support/http.ts'
import { startService } from '../../support/service.ts'
import type { TestService } from '../../support/service.ts'

interface Item {
  readonly index: number
  readonly event_id: string | null
  readonly status: string
  readonly errors?: { readonly code: string; readonly pointer: string }[]
}

describe('a batch with on_invalid=skip', () => {
  let service: TestService
  let token: string

  beforeEach(async () => {
    service = await startService({ MAX_SENSORS_PER_USER: '2' })
    token = await service.createToken('a@example.org')
  })

  afterEach(() => service.stop())

  const submit = (measurements: unknown, query = 'on_invalid=skip') => {
    const path = `/api/v1/measurements/batch?${query}`
    return send(service.url, { method: 'POST', path, token, body: { measurements } })
  }
  const told = ({ body }: { body: { data: { measurements: Item[] } } }) =>
    body.data.measurements.map(({ index, status, errors = [] }) =>
      [index, status, ...errors.map(({ code, pointer }) => `${code} ${pointer}`)].join(' '),
    )

  it('stores what is valid and says what is wrong with each other element', async () => {
    const answer = await submit([
      { event_id: 'e0', sn: 'A1', temp: -300 },
      { event_id: 'e1', sn: 'A1', temp: 1 },
      { event_id: 'e2', sn: 'A1', temp: 2, timestamp: '2026-11-21T00:00:00Z' },
      7,
      { event_id: 'e4', sn: 'A2', temp: 4 },
      { event_id: 'e5', sn: 'A3', temp: 5 },
      { event_id: 'e6', sn: 'A3', temp: 6, timestamp: '1999-01-01T00:00:00Z' },
    ])
    expect(answer.status).to.equal(201)
    expect(answer.body.data).to.deep.include({ created: 2, duplicates: 0, rejected: 5 })
    expect(told(answer)).to.deep.equal([
      '0 rejected minimum /measurements/0/temp',
      '1 created',
      '2 rejected timestamp_in_future /measurements/2/timestamp',
      '3 rejected type /measurements/3',
      '4 created',
      '5 rejected sensor_quota /measurements/5/sn',
      '6 rejected timestamp_too_old /measurements/6/timestamp',
    ])
    expect(answer.body.data.measurements[0]).not.to.have.any.keys('sensor_id', 'timestamp')
  })

  it('rejects an element that says a member twice, and keeps both values', async () => {
    const elements = '{"event_id":"a","event_id":"b","sn":"A1","temp":1},{"sn":"A1","temp":2}'
    const path = '/api/v1/measurements/batch?on_invalid=skip'
    const body = `{"measurements":[${elements}]}`
    expect(told(await send(service.url, { method: 'POST', path, token, body }))).to.deep.equal([
      '0 rejected repeated_member /measurements/0/event_id',
      '1 created',
    ])
    expect(await service.operations.run('refused retry', { all: true })).to.deep.equal({
      count: 0,
      refusedAgain: 1,
    })
    const { refused } = await service.operations.run('refused list', { limit: '1' })
    const { entries } = refused!
    expect(entries[0]?.content).to.equal('{"event_id":{"repeated":["a","b"]},"sn":"A1","temp":1}')
  })

  it('rejects an element that is nested deeply, and stores what is beside it', async () => {
    const deep = `${'['.repeat(8_000)}${']'.repeat(8_000)}`
    const body = `\uFEFF{"measurements":[{"sn":"A1","temp":1},${deep}]}`
    const path = '/api/v1/measurements/batch?on_invalid=skip'
    const answer = await send(service.url, { method: 'POST', path, token, body })
    expect([answer.status, told(answer)]).to.deep.equal([
      201,
      ['0 created', '1 rejected type /measurements/1'],
    ])
  })

  it('gives a rejected element no event id: the first valid one with it counts', async () => {
    const late = { event_id: 'e1', sn: 'A1', temp: 1, timestamp: '2026-11-21T00:00:00Z' }
    const invalid = { event_id: 'e1', sn: 'A1', temp: 1e9 }
    const answer = await submit([invalid, late, { ...invalid, temp: 3 }])
    expect(told(answer).map((item) => item.split(' ')[1])).to.deep.equal([
      'rejected',
      'rejected',
      'created',
    ])
    const repeat = await submit([{ event_id: 'e1', sn: 'A1', temp: 3 }])
    expect([repeat.status, told(repeat)]).to.deep.equal([200, ['0 duplicate']])
  })

  it('answers a batch of which nothing is valid with 200', async () => {
    const { status, body } = await submit([{ sn: 'A1', temp: 'warm' }])
    expect([status, body.data.created, body.data.rejected]).to.deep.equal([200, 0, 1])
    const list = await send(service.url, { path: '/api/v1/sensors', token })
    expect(list.body.data).to.deep.equal([])
  })

  it('refuses what is wrong with the batch as a whole', async () => {
    expect((await submit([])).status).to.equal(422)
    expect((await submit({ sn: 'A1', temp: 1 })).status).to.equal(422)
    expect((await submit([{ sn: 'A1', temp: 1 }], 'on_invalid=keep')).status).to.equal(422)
    expect((await submit([{ sn: 'A1', temp: 1 }], 'on_invalid=skip&x=1')).status).to.equal(422)
    const many = Array.from({ length: 501 }, () => ({ sn: 'A1', temp: 1 }))
    expect((await submit(many)).status).to.equal(413)
  })

  it('charges the elements that it rejects as well', async () => {
    const { headers } = await submit([{ sn: 'A1', temp: 1 }, 1, 2, 3])
    expect(headers['ratelimit']).to.include('"measurements";r=599996;')
  })
})
