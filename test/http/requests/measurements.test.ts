// Submitting over HTTP: what a sender is told. That it is also kept is the journal's own test.

import { expect } from 'chai'
import { gzipSync } from 'node:zlib'
import { send, sendBatch } from '../../support/http.ts'
import type { TestAnswer } from '../../support/http.ts'
import { startService } from '../../support/service.ts'
import type { TestService } from '../../support/service.ts'

describe('submitting', () => {
  let service: TestService
  let token: string

  beforeEach(async () => {
    service = await startService({ MAX_SENSORS_PER_USER: '2' })
    token = await service.createToken('a@example.org')
  })

  afterEach(() => service.stop())

  const submit = (body: unknown): Promise<TestAnswer> =>
    send(service.url, { method: 'POST', path: '/api/v1/measurements', token, body })
  const submitBatch = (measurements: unknown[]) => sendBatch(service.url, token, measurements)

  it('answers a new measurement with 201 and the time at which it came', async () => {
    const { status, body } = await submit({ event_id: 'e1', sn: 'A1', temp: 21.4 })
    expect(status).to.equal(201)
    expect(body.data).to.deep.equal({
      event_id: 'e1',
      sn: 'A1',
      sensor_id: 1,
      temp: 21.4,
      timestamp: '2026-11-20T10:15:02.113Z',
      status: 'created',
    })
  })

  it('answers a repeat with 200 and what is stored', async () => {
    await submit({ event_id: 'e1', sn: 'A1', temp: 21.4 })
    service.clock.advanceMs(60_000)
    const { status, body } = await submit({ event_id: 'e1', sn: 'a1', temp: 21.4 })
    expect(status).to.equal(200)
    expect(body.data).to.deep.include({
      sn: 'A1',
      timestamp: '2026-11-20T10:15:02.113Z',
      status: 'duplicate',
    })
  })

  it('answers other content under a known event id with 409 and what is stored', async () => {
    await submit({ event_id: 'e1', sn: 'A1', temp: 21.4 })
    const { status, body } = await submit({ event_id: 'e1', sn: 'A1', temp: 21.5 })
    expect([status, body.code]).to.deep.equal([409, 'event_id_conflict'])
    expect(body.existing).to.deep.equal({
      event_id: 'e1',
      sn: 'A1',
      sensor_id: 1,
      temp: 21.4,
      timestamp: '2026-11-20T10:15:02.113Z',
    })
  })

  it('names each decision of a batch', async () => {
    await submit({ event_id: 'e1', sn: 'A1', temp: 21.4 })
    const { status, body } = await submitBatch([
      { event_id: 'e1', sn: 'A1', temp: 21.4 },
      { event_id: 'e1', sn: 'A1', temp: 22 },
      { event_id: 'e2', sn: 'A2', temp: -0, timestamp: '2026-11-20T10:00:00Z' },
      { sn: 'A2', temp: 5 },
    ])
    expect(status).to.equal(201)
    const { created, duplicates, conflicts, measurements } = body.data
    expect([created, duplicates, conflicts]).to.deep.equal([2, 1, 1])
    expect(measurements[1]).to.deep.include({ index: 1, event_id: 'e1', status: 'conflict' })
    expect(measurements[1].existing).to.deep.include({ event_id: 'e1', temp: 21.4 })
    expect(measurements[3]).to.deep.equal({
      index: 3,
      event_id: null,
      sensor_id: 2,
      timestamp: '2026-11-20T10:15:02.113Z',
      status: 'created',
    })
  })

  it('takes rare forms of a batch for what they say', async () => {
    const path = '/api/v1/measurements/batch'
    const sendText = (body: string) => send(service.url, { method: 'POST', path, token, body })
    const odd = String.raw`[{"temp":2.14e1,"event_id":"\u0065\"ä","sn":"\u0041\u0031"}]`
    const first = await sendText(`{"measurements":${odd}}`)
    expect([first.status, first.body.data.created]).to.deep.equal([201, 1])
    expect(first.body.data.measurements[0].event_id).to.equal('e"ä')
    const plain = '[{"event_id":"e2","sn":"A1","temp":21.4},{"temp":-0,"sn":"A1","event_id":"e2"}]'
    const second = await sendText(`{ "measurements" : ${plain} }\n`)
    const { measurements } = second.body.data
    expect(measurements.map((item: { status: string }) => item.status)).to.deep.equal([
      'created',
      'conflict',
    ])
    expect(measurements[1].existing).to.deep.include({ event_id: 'e2', sn: 'A1', temp: 21.4 })
    const repeat = await submit({ event_id: 'e"ä', sn: 'A1', temp: 21.4 })
    expect(repeat.body.data.status).to.equal('duplicate')
  })

  it('answers a batch of which nothing is new with 200', async () => {
    const batch = [{ event_id: 'e1', sn: 'A1', temp: 21.4 }]
    expect((await submitBatch(batch)).status).to.equal(201)
    expect((await submitBatch(batch)).status).to.equal(200)
  })

  it('tells the time of the server to whose clock is ahead', async () => {
    const measurement = { event_id: 'e1', sn: 'A1', temp: 1, timestamp: '2026-11-20T11:00:00Z' }
    const single = await submit(measurement)
    expect(single.body.errors).to.have.lengthOf(1)
    expect(single.body.errors[0]).to.have.all.keys('pointer', 'code', 'detail')
    expect(single.body.server_time).to.equal('2026-11-20T10:15:02.113Z')
    const batch = await submitBatch([{ sn: 'A1', temp: 1 }, measurement])
    expect(batch.body.errors[0]).to.deep.include({
      pointer: '/measurements/1/timestamp',
      code: 'timestamp_in_future',
      index: 1,
      event_id: 'e1',
    })
  })

  it('names the elements of a batch whose sensors are not permitted', async () => {
    const { status, body } = await submitBatch([
      { sn: 'A1', temp: 1 },
      { sn: 'A2', temp: 1 },
      { event_id: 'e3', sn: 'A3', temp: 1 },
    ])
    expect([status, body.code]).to.deep.equal([403, 'sensor_quota'])
    expect(body.errors[0]).to.deep.include({
      pointer: '/measurements/2/sn',
      index: 2,
      event_id: 'e3',
    })
    const list = await send(service.url, { path: '/api/v1/sensors', token })
    expect(list.body.data).to.deep.equal([])
  })

  it('takes compressed batches of 500', async () => {
    const measurements = Array.from({ length: 500 }, (_, index) => ({ sn: 'A1', temp: index }))
    const { status, body } = await send(service.url, {
      method: 'POST',
      path: '/api/v1/measurements/batch',
      token,
      body: gzipSync(JSON.stringify({ measurements })),
      headers: { 'content-encoding': 'gzip' },
    })
    expect(status).to.equal(201)
    expect(body.data.created).to.equal(500)
  })

  it('takes nothing while the clock of the server is wrong', async () => {
    service.clock.set('2020-01-01T00:00:00Z')
    const { status, body, headers } = await submit({ sn: 'A1', temp: 1 })
    expect([status, body.code]).to.deep.equal([503, 'clock_unset'])
    expect(Number(headers['retry-after'])).to.be.greaterThan(0)
  })

  it('writes no line for a submission that was taken', async () => {
    const requests = () =>
      service.log.events.filter(({ level, message }) => level === 'info' && message === 'request')
    await submit({ sn: 'A1', temp: 1 })
    expect(requests()).to.deep.equal([])
    await submit({ sn: 'A1' })
    const lines = requests()
    expect(lines.map(({ fields }) => fields['status'])).to.deep.equal([422])
  })
})
