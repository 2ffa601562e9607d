// What common senders send is stored as they mean it, and stored once when they send it again.

import { expect } from 'chai'
import { gzipSync } from 'node:zlib'
import { SENDER_REQUESTS } from '../../fixtures/line-senders.ts'
import type { SenderRequest } from '../../fixtures/line-senders.ts'
import { mutated } from '../../support/mutated.ts'
import { send } from '../../support/http.ts'
import { startService } from '../../support/service.ts'
import type { TestService } from '../../support/service.ts'

const PROPERTY_REQUESTS = 400

describe('the requests of senders', () => {
  let service: TestService

  before(async () => {
    service = await startService({ RATE_LIMIT_REQUESTS: '0' })
  })

  after(() => service.stop())

  const sendLines = (
    token: string,
    request: SenderRequest,
    body: string | Buffer = request.body,
  ) => {
    const credentials =
      request.scheme === 'Basic' ? Buffer.from(`x:${token}`).toString('base64') : token
    const authorization = `${request.scheme} ${credentials}`
    const packed = request.isPacked === true
    const headers = {
      ...request.headers,
      authorization,
      ...(packed && { 'content-encoding': 'gzip' }),
    }
    const { path } = request
    const sent = packed ? gzipSync(body) : body
    return send(service.url, { method: 'POST', path, headers, body: sent })
  }

  for (const request of SENDER_REQUESTS) {
    it(`of ${request.sender} are stored as they mean it, twice sent too`, async () => {
      const token = await service.createToken(`${request.sender.replaceAll(/\W/g, '-')}@x.org`)
      const first = await sendLines(token, request)
      const again = await sendLines(token, request)
      const count = Object.keys(request.stored).length
      expect([first.status, first.headers['thermolog-created']]).to.deep.equal([204, `${count}`])
      const createdAgain = String(request.unkeyed ?? 0)
      expect([again.status, again.headers['thermolog-created']]).to.deep.equal([204, createdAgain])
      const list = await send(service.url, { path: '/api/v1/sensors', token })
      const sensors = list.body.data as { sn: string; latest: { raw: number } }[]
      const stored = Object.fromEntries(sensors.map(({ sn, latest }) => [sn, latest.raw]))
      expect(stored).to.deep.equal(request.stored)
    })
  }

  it('are answered whatever happens to their bytes, and their good lines are stored', async () => {
    const token = await service.createToken('mutations@x.org')
    const good = 'room,sn=28FF641E93160434 temp=21.37 '
    for (let at = 0; at < PROPERTY_REQUESTS; at++) {
      const request = SENDER_REQUESTS[at % SENDER_REQUESTS.length]!
      const time = BigInt('1795169700000000000') - BigInt(at) * 1_000_000_000n
      const known = { ...request, path: '/api/v2/write', isPacked: false }
      const bytes = Buffer.concat([
        Buffer.from(`${good}${time}\n`),
        mutated(Buffer.from(request.body), at),
        Buffer.from(`\n${good}${time + 1_000_000n}`),
      ])
      const { status, headers } = await sendLines(token, known, bytes)
      expect(status, bytes.toString('latin1')).to.be.oneOf([204, 400])
      expect(Number(headers['thermolog-created'])).to.be.greaterThan(0)
    }
    const sensors = await send(service.url, { path: '/api/v1/sensors', token })
    expect(sensors.status).to.equal(200)
  })
})
