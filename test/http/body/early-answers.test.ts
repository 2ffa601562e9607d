// Goal: an answer that is known before the body was read reaches the client, and never makes the
// rest of that body look like the next request. Proxies share a connection among clients, so an
// unread body of one client would break the requests of others.
// Method: raw connections. Each body consists of requests, so that a service that mistakes it for
// one gives an answer too many.

import { expect } from 'chai'
import { send } from '../../support/http.ts'
import { headOf, RawConnection } from '../../support/raw-connection.ts'
import type { RawAnswer } from '../../support/raw-connection.ts'
import { startService } from '../../support/service.ts'
import type { TestService } from '../../support/service.ts'

const KIB = 1_024
const MIB = 2 ** 20
const MEASUREMENTS = '/api/v1/measurements'
const BATCH = '/api/v1/measurements/batch'
const JSON_TYPE = { 'Content-Type': 'application/json' }
const POST_ONE = ['POST', MEASUREMENTS] as const
/** The service waits 2 s for a late body, and 2 s more for a client that keeps sending. */
const PATIENCE_MS = 15_000

interface Early {
  readonly name: string
  readonly status: number
  readonly request: readonly [method: string, path: string]
  readonly headers?: Readonly<Record<string, string>>
  /** Whose token is used; by default that of a user who may do everything. */
  readonly as?: 'nobody' | 'stranger' | 'reader' | 'spender'
  /** The time on the service's clock. */
  readonly at?: string
}

const EARLY: readonly Early[] = [
  { name: 'an unknown token', status: 401, request: POST_ONE, as: 'stranger' },
  { name: 'no token', status: 401, request: POST_ONE, as: 'nobody' },
  { name: 'a token without the scope', status: 403, request: POST_ONE, as: 'reader' },
  { name: 'an unknown path of the API', status: 404, request: ['POST', '/api/v1/nothing'] },
  { name: 'an unknown path', status: 404, request: ['POST', '/nothing'] },
  { name: 'an unknown method of the API', status: 405, request: ['DELETE', MEASUREMENTS] },
  { name: 'an unknown method', status: 405, request: ['POST', '/healthz'] },
  {
    name: 'another media type',
    status: 415,
    request: POST_ONE,
    headers: { 'Content-Type': 'text/plain' },
  },
  {
    name: 'an unknown compression',
    status: 415,
    request: POST_ONE,
    headers: { 'Content-Encoding': 'br' },
  },
  { name: 'a spent allowance', status: 429, request: POST_ONE, as: 'spender' },
  {
    name: 'a wrong clock',
    status: 503,
    request: POST_ONE,
    at: '2020-01-01T00:00:00Z',
  },
  { name: 'a body that nobody needs', status: 200, request: ['GET', '/healthz'] },
]

describe('an answer before the body', function () {
  this.timeout(PATIENCE_MS)
  let service: TestService
  const tokens = new Map<Early['as'], string>()
  const connections: RawConnection[] = []

  before(async () => {
    service = await startService({ RATE_LIMIT_REQUESTS: '100' })
    const reader = { scope: ['sensors:read'] }
    tokens.set('stranger', `thd_live_${'x'.repeat(43)}`)
    tokens.set('reader', await service.createToken('reader@example.org', reader))
    const spender = await service.createToken('spender@example.org')
    tokens.set('spender', spender)
    let status = 200
    while (status !== 429) {
      status = (await send(service.url, { path: '/api/v1/me', token: spender })).status
    }
  })

  beforeEach(async () => {
    tokens.set(undefined, await service.createToken('good@example.org'))
  })

  afterEach(() => {
    for (const connection of connections.splice(0)) connection.close()
    service.clock.set('2026-11-20T10:15:02.113Z')
  })

  after(() => service.stop())

  const open = async () => {
    const connection = await RawConnection.open(service.url)
    connections.push(connection)
    return connection
  }
  const credentials = (as: Early['as']) => {
    const token = tokens.get(as)
    return token === undefined ? {} : { Authorization: `Bearer ${token}` }
  }
  const earlyHead = ({ request, headers, as }: Early, framing: Record<string, string | number>) =>
    headOf(request, { ...credentials(as), ...JSON_TYPE, ...headers, ...framing })
  const nextRequest = () => headOf(['GET', '/api/v1/me'], credentials(undefined))
  /** Resolves when the service has seen everything that was sent before. */
  const otherRoundTrips = async () => {
    for (let time = 0; time < 3; time++) {
      await send(service.url, { path: '/api/v1/me', token: tokens.get(undefined) ?? '' })
    }
  }
  const isClosing = ({ headers }: RawAnswer) => headers.get('connection') === 'close'
  /** That many bytes of one request after another. */
  const poison = (bytes: number) => Buffer.alloc(bytes, headOf(['BREW', '/poison'], {}))
  const refused = (name: string) => EARLY.find((early) => early.name === name) ?? expect.fail(name)
  const stranger = refused('an unknown token')

  for (const early of EARLY) {
    it(`keeps the connection usable after ${early.name} (${early.status})`, async () => {
      if (early.at !== undefined) service.clock.set(early.at)
      const connection = await open()
      connection.write(earlyHead(early, { 'Content-Length': 10 * KIB }))
      await otherRoundTrips()
      expect(connection.hasReceived, 'answered before the body').to.equal(false)
      connection.write(poison(10 * KIB))
      const answer = await connection.answer()
      expect(answer.status).to.equal(early.status)
      expect(isClosing(answer), 'the connection is closed').to.equal(false)
      connection.write(nextRequest())
      expect((await connection.answer()).status).to.equal(200)
    })
  }

  it('drops a body that comes in pieces', async () => {
    const connection = await open()
    connection.write(earlyHead(stranger, { 'Content-Length': 64 * KIB }))
    for (let piece = 0; piece < 16; piece++) {
      connection.write(poison(4 * KIB))
      await otherRoundTrips()
      expect(connection.hasReceived).to.equal(piece === 15)
    }
    const answer = await connection.answer()
    expect([answer.status, isClosing(answer)]).to.deep.equal([401, false])
    connection.write(nextRequest())
    expect((await connection.answer()).status).to.equal(200)
  })

  it('drops a chunked body', async () => {
    const connection = await open()
    connection.write(earlyHead(stranger, { 'Transfer-Encoding': 'chunked' }))
    connection.write(`400\r\n${poison(KIB).toString()}\r\n`)
    await otherRoundTrips()
    expect(connection.hasReceived).to.equal(false)
    connection.write(`400\r\n${poison(KIB).toString()}\r\n0\r\n\r\n`)
    const answer = await connection.answer()
    expect([answer.status, isClosing(answer)]).to.deep.equal([401, false])
    connection.write(nextRequest())
    expect((await connection.answer()).status).to.equal(200)
  })

  it('answers pipelined requests in their order', async () => {
    const connection = await open()
    const head = earlyHead(stranger, { 'Content-Length': KIB })
    const refusedOne = Buffer.concat([Buffer.from(head), poison(KIB)])
    connection.write(Buffer.concat([refusedOne, refusedOne, Buffer.from(nextRequest())]))
    const statuses = [
      await connection.answer(),
      await connection.answer(),
      await connection.answer(),
    ]
    expect(statuses.map(({ status }) => status)).to.deep.equal([401, 401, 200])
  })

  it('answers each of many that are sent at once', async () => {
    const connection = await open()
    const numbers = Array.from({ length: 20 }, (_, index) => index)
    const nowhere = headOf(['POST', '/api/v1/nothing'], {
      ...credentials(undefined),
      'Content-Length': KIB,
    })
    const requests = numbers.flatMap((number) => {
      const body = `{"event_id":"${number}","sn":"A1","temp":1.5}`
      const framing = { ...JSON_TYPE, 'Content-Length': body.length }
      const head = headOf(POST_ONE, { ...credentials(undefined), ...framing })
      return [Buffer.from(head + body + nowhere), poison(KIB)]
    })
    connection.write(Buffer.concat(requests))
    for (const number of numbers) {
      const stored = await connection.answer()
      expect(stored.status).to.equal(201)
      expect(stored.body).to.include(`"event_id":"${number}"`)
      expect((await connection.answer()).status).to.equal(404)
    }
  })

  it('answers 64 of more that are sent at once, and ends', async () => {
    const connection = await open()
    const requests = Array.from({ length: 300 }, (_, number) => {
      const body = `{"event_id":"many/${number}","sn":"A1","temp":1.5}`
      const framing = { ...JSON_TYPE, 'Content-Length': body.length }
      return headOf(POST_ONE, { ...credentials(undefined), ...framing }) + body
    })
    connection.write(requests.join(''))
    for (let number = 0; number < 64; number++) {
      const stored = await connection.answer()
      expect(stored.status).to.equal(201)
      expect(stored.body).to.include(`"event_id":"many/${number}"`)
    }
    expect(await connection.end()).to.equal('')
  })

  it('stores a measurement that follows a refused body', async () => {
    const connection = await open()
    const measurement = '{"sn":"A1","temp":1.5}'
    connection.write(earlyHead(stranger, { 'Content-Length': KIB }))
    await otherRoundTrips()
    connection.write(poison(KIB))
    const length = { 'Content-Length': measurement.length }
    connection.write(headOf(POST_ONE, { ...credentials(undefined), ...JSON_TYPE, ...length }))
    connection.write(measurement)
    expect((await connection.answer()).status).to.equal(401)
    expect((await connection.answer()).status).to.equal(201)
  })

  it('closes the connection if the body does not come', async () => {
    const connection = await open()
    connection.write(earlyHead(stranger, { 'Content-Length': KIB }))
    const answer = await connection.answer()
    expect([answer.status, isClosing(answer)]).to.deep.equal([401, true])
    connection.write(poison(KIB))
    expect(await connection.end()).to.equal('')
  })

  it('closes the connection if a chunked body does not end', async () => {
    const connection = await open()
    connection.write(earlyHead(stranger, { 'Transfer-Encoding': 'chunked' }))
    connection.write(`400\r\n${poison(KIB).toString()}\r\n`)
    const answer = await connection.answer()
    expect([answer.status, isClosing(answer)]).to.deep.equal([401, true])
    expect(await connection.end()).to.equal('')
  })

  it('neither asks for an expected body nor waits for it', async () => {
    const connection = await open()
    connection.write(earlyHead(stranger, { 'Content-Length': KIB, Expect: '100-continue' }))
    const answer = await connection.answer()
    expect([answer.status, isClosing(answer)]).to.deep.equal([401, true])
    expect(await connection.end()).to.equal('')
  })

  const long: readonly (Early & { readonly bytes: number })[] = [
    { ...stranger, bytes: 64 * KIB + 1 },
    ...EARLY.filter(({ status }) => status >= 400).map((early) => ({ ...early, bytes: 3 * MIB })),
    {
      name: 'a body that is too large',
      status: 413,
      request: ['POST', BATCH],
      // A compressed body may be a little longer than what it unpacks to.
      headers: { 'Content-Encoding': 'gzip' },
      bytes: 4 * MIB + 65 * KIB,
    },
  ]
  for (const early of long) {
    const { name, status, bytes } = early
    it(`reaches a client that first sends ${bytes} bytes: ${name} (${status})`, async () => {
      if (early.at !== undefined) service.clock.set(early.at)
      const connection = await open()
      connection.write(earlyHead(early, { 'Content-Length': bytes }))
      await connection.writeBlindly(poison(Math.min(bytes, 4 * MIB)))
      const answer = await connection.answer()
      expect(answer.status).to.equal(status)
      expect(JSON.parse(answer.body)).to.deep.include({ status })
      expect(isClosing(answer), 'the connection is closed').to.equal(true)
      expect(await connection.end()).to.equal('')
      expect(connection.error).to.equal(undefined)
    })
  }

  it('reaches a client that first sends a long chunked body', async () => {
    const connection = await open()
    connection.write(earlyHead(stranger, { 'Transfer-Encoding': 'chunked' }))
    const chunk = Buffer.concat([Buffer.from('10000\r\n'), poison(64 * KIB), Buffer.from('\r\n')])
    const body = Buffer.concat(Array.from({ length: 48 }, () => chunk))
    await connection.writeBlindly(body)
    const answer = await connection.answer()
    expect([answer.status, isClosing(answer)]).to.deep.equal([401, true])
    expect(await connection.end()).to.equal('')
    expect(connection.error).to.equal(undefined)
  })

  it('is followed by an end even if the client never stops sending', async () => {
    const connection = await open()
    const bytes = 64 * MIB
    connection.write(earlyHead(stranger, { 'Content-Length': bytes }))
    expect(await connection.writeBlindly(poison(bytes))).to.be.lessThan(bytes)
  })

  it('is followed by an end even if the client keeps the connection', async () => {
    const connection = await open()
    connection.write(earlyHead(stranger, { 'Content-Length': MIB }))
    const answer = await connection.answer()
    expect([answer.status, isClosing(answer)]).to.deep.equal([401, true])
    expect(await connection.end()).to.equal('')
    // Writing fails only after the service has closed the connection for good.
    while (connection.error === undefined) {
      connection.write('x')
      await otherRoundTrips()
    }
    expect((connection.error as NodeJS.ErrnoException).code).to.match(/^(EPIPE|ECONNRESET)$/)
  })
})
