// Goal: a URL with a slash too many, the slip that is made most, loses nobody any data. Method: the
// addresses that senders append to it, and their neighbours, which stay as they are.

import { expect } from 'chai'
import { sendUnchecked } from '../../support/http.ts'
import { startService } from '../../support/service.ts'
import type { TestService } from '../../support/service.ts'

describe('slashes too many', () => {
  let service: TestService
  let authorization: string
  before(async () => {
    service = await startService()
    authorization = `Token ${await service.createToken('a@example.org')}`
  })
  after(() => service.stop())

  const ask = (address: string) => {
    const [method = '', path = ''] = address.split(' ')
    const body = method === 'POST' ? 't temp=1 1795169642' : undefined
    return sendUnchecked(service.url, { method, path, body, headers: { authorization } })
  }

  for (const [address, status] of [
    ['POST //api/v2/write?precision=s', 204],
    ['POST /api//v2/write/?precision=s', 204],
    ['POST /api/v2/write//?precision=s', 204],
    ['POST //write?precision=s', 204],
    ['POST /write/?precision=s', 204],
    ['GET //ping', 204],
    ['HEAD /ping/', 204],
    ['GET //health', 200],
    ['GET //query/?q=SHOW+MEASUREMENTS', 200],
  ] as const) {
    it(`are passed over in ${address}`, async () => {
      expect((await ask(address)).status).to.equal(status)
    })
  }

  it('store a point under the same event as without them', async () => {
    const { headers } = await ask('POST ///write///?precision=s')
    expect(headers).to.include({ 'thermolog-created': '0', 'thermolog-duplicates': '1' })
  })

  for (const [address, allowed] of [
    ['GET //api/v2/write', 'POST'],
    ['POST /ping/', 'GET, HEAD'],
    ['DELETE //query', 'GET, HEAD, POST'],
  ] as const) {
    it(`leave the methods of ${address}`, async () => {
      const { status, headers } = await ask(address)
      expect([status, headers.allow]).to.deep.equal([405, allowed])
    })
  }

  for (const address of [
    'POST /api/v2%2Fwrite',
    'POST /%2Fwrite',
    'POST /write%2F',
    'POST /api/v2/write/x',
    'POST /Write/',
    'GET //',
    'GET //healthz',
    'GET /docs/',
    'GET //api/v1/sensors',
  ]) {
    it(`count in ${address}`, async () => {
      expect((await ask(address)).status).to.equal(404)
    })
  }
})
