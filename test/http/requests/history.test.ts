// History over HTTP: its formats, what makes it known already, and long ones in pieces.

import { expect } from 'chai'
import { gunzipSync } from 'node:zlib'
import { get } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { IncomingMessage } from 'node:http'
import { send, sendBatch } from '../../support/http.ts'
import { startService } from '../../support/service.ts'
import type { TestService } from '../../support/service.ts'

const PATH = '/api/v1/sensors/1/measurements'
const HOURS = `${PATH}?from=2026-11-20T08:00:00Z&to=2026-11-20T10:00:00Z&bucket=hour`

describe('history', () => {
  let service: TestService
  let token: string

  before(async () => {
    service = await startService()
    token = await service.createToken('a@example.org')
    await submit([
      { sn: 'A1', temp: 10, timestamp: '2026-11-20T08:10:00Z' },
      { sn: 'A1', temp: 11.5, timestamp: '2026-11-20T08:20:00Z' },
      { sn: 'A1', temp: 12, timestamp: '2026-11-20T08:20:00Z' },
    ])
  })

  after(() => service.stop())

  const submit = (measurements: unknown[]) => sendBatch(service.url, token, measurements)
  const ask = (path: string, headers: Record<string, string> = {}) =>
    send(service.url, { path, token, headers })

  it('comes as JSON with what it is of', async () => {
    const { body, headers } = await ask(HOURS)
    expect(body.data).to.deep.equal({
      sensor: { id: 1, sn: 'A1', alias: 'A1', compensation: 0 },
      from: '2026-11-20T08:00:00.000Z',
      to: '2026-11-20T10:00:00.000Z',
      bucket: 'hour',
      tz: 'UTC',
      complete: true,
      points: [
        { timestamp: '2026-11-20T08:00:00.000Z', temp: 11.166667, min: 10, max: 12, count: 3 },
      ],
    })
    expect(headers['cache-control']).to.equal('private, no-cache')
    expect(headers.vary).to.match(/\bAccept\b/)
  })

  it('lists every measurement as raw', async () => {
    const { body } = await ask(
      `${PATH}?from=2026-11-20T08:20:00Z&to=2026-11-20T09:00:00Z&bucket=raw`,
    )
    expect(body.data.points).to.deep.equal([
      { timestamp: '2026-11-20T08:20:00.000Z', temp: 11.5 },
      { timestamp: '2026-11-20T08:20:00.000Z', temp: 12 },
    ])
  })

  it('comes as CSV', async () => {
    const { text, headers } = await ask(`${HOURS}&fill=null`, { accept: 'text/csv' })
    expect(headers['content-type']).to.match(/^text\/csv\b/)
    expect(text).to.equal(
      'timestamp,temp,min,max,count\r\n' +
        '2026-11-20T08:00:00.000Z,11.166667,10,12,3\r\n' +
        '2026-11-20T09:00:00.000Z,,,,0\r\n',
    )
    expect(headers['thermolog-complete']).to.equal('true')
  })

  it('comes as NDJSON, by preference of the client', async () => {
    const accept = 'text/csv;q=0.5, application/x-ndjson, application/json;q=0.9'
    const { text } = await ask(`${HOURS}&fill=null`, { accept })
    const points = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object)
    expect(points).to.have.lengthOf(2)
    expect(points[1]).to.deep.include({ temp: null, count: 0 })
  })

  it('comes as JSON to who accepts nothing that there is', async () => {
    const { headers } = await ask(HOURS, { accept: 'image/png' })
    expect(headers['content-type']).to.match(/^application\/json/)
  })

  it('answers 304 while nothing has changed', async () => {
    const first = await ask(HOURS)
    const tag = first.headers.etag ?? ''
    expect(tag).to.match(/^W\/"/)
    for (const known of [tag, '*', `"other", ${tag}`, tag.slice(2)]) {
      const again = await ask(HOURS, { 'if-none-match': known })
      expect([again.status, again.text], known).to.deep.equal([304, ''])
      expect(again.headers.etag).to.equal(tag)
    }
    expect((await ask(HOURS, { 'if-none-match': '"other"' })).status).to.equal(200)
    const csv = await ask(HOURS, { 'if-none-match': tag, accept: 'text/csv' })
    expect(csv.status).to.equal(200)
  })

  it('answers anew when the data or the sensor has changed', async () => {
    const tag = (await ask(HOURS)).headers.etag ?? ''
    await submit([{ sn: 'A1', temp: 14, timestamp: '2026-11-20T08:30:00Z' }])
    const more = await ask(HOURS, { 'if-none-match': tag })
    expect(more.body.data.points[0].count).to.equal(4)
    await send(service.url, {
      method: 'PATCH',
      path: '/api/v1/sensors/1',
      token,
      body: { compensation: 1 },
    })
    const warmer = await ask(HOURS, { 'if-none-match': more.headers.etag ?? '' })
    expect(warmer.body.data.points[0].max).to.equal(15)
  })

  it('has no body for HEAD', async () => {
    const { status, text, headers } = await send(service.url, {
      method: 'HEAD',
      path: `${PATH}?from=2026-11-01T00:00:00Z&bucket=minute&fill=null&to=2026-11-07T00:00:00Z`,
      token,
    })
    expect([status, text]).to.deep.equal([200, ''])
    expect(headers.etag).to.match(/^W\//)
  })

  it('streams a long one, compressed when the client accepts it', async () => {
    const path = `${PATH}?from=2026-11-01T00:00:00Z&to=2026-11-07T00:00:00Z&bucket=minute&fill=null`
    const plain = await ask(path)
    expect(plain.headers['transfer-encoding']).to.equal('chunked')
    expect(plain.body.data.points).to.have.lengthOf(6 * 1_440)
    const headers = { authorization: `Bearer ${token}`, 'accept-encoding': 'gzip' }
    const packed = await new Promise<IncomingMessage>((resolve) => {
      get(service.url + path, { headers }, resolve)
    })
    expect(packed.headers['content-encoding']).to.equal('gzip')
    expect(packed.headers.vary).to.match(/Accept-Encoding/)
    expect(gunzipSync(await buffer(packed)).toString()).to.equal(plain.text)
  })

  it('stops reading when the client goes away', async () => {
    const path = `${PATH}?from=2026-11-01T00:00:00Z&to=2026-11-07T00:00:00Z&bucket=minute&fill=null`
    const headers = { authorization: `Bearer ${token}` }
    await new Promise<void>((resolve) => {
      const request = get(service.url + path, { headers }, (answer) => {
        answer.once('data', () => request.destroy())
        answer.once('close', resolve)
        answer.on('error', () => resolve())
      })
    })
    expect((await ask(HOURS)).status).to.equal(200)
    expect(service.log.events.filter(({ level }) => level === 'error')).to.deep.equal([])
  })
})
