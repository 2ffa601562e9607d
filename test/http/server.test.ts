// What every request passes through, down to the bytes. Some of it no HTTP client would send, so
// it is written onto a socket by hand.

import { expect } from 'chai'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { Agent, request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { send } from '../support/http.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { within } from '../support/until.ts'

/** Long before what is sent slowly is given up anyway, which takes 20 s. */
const STOPPED_MS_MAX = 15_000
/** What is under way gets so long. */
const DRAIN_MS = 5_000
/** More than is read of a body that nobody wants. */
const BODY_BYTES = 2 ** 20

type Write = (bytes: string, done: (error?: Error | null) => void) => void

describe('the HTTP server', () => {
  let service: TestService
  let token: string

  beforeEach(async () => {
    service = await startService()
    token = await service.createToken('a@example.org')
  })

  afterEach(() => service.stop())

  const open = (): Socket => {
    const { hostname, port } = new URL(service.url)
    return connect({ host: hostname, port: Number(port) })
  }
  const exchange = (bytes: string): Promise<string> => {
    const socket = open()
    socket.end(bytes)
    return text(socket)
  }
  const problemOf = (answer: string) => {
    const [head = '', body = ''] = answer.split('\r\n\r\n')
    return { head, problem: JSON.parse(body) as { code: string; request_id: string } }
  }

  it('keeps a well-formed request id and replaces any other', async () => {
    const ask = (id: string) =>
      send(service.url, { path: '/healthz', headers: { 'x-request-id': id } })
    expect((await ask('a.B-1_2')).headers['x-request-id']).to.equal('a.B-1_2')
    expect((await ask('a b')).headers['x-request-id']).to.match(/^[\w-]{36}$/)
    expect((await ask('x'.repeat(129))).headers['x-request-id']).to.match(/^[\w-]{36}$/)
  })

  it('sets the headers that keep browsers from guessing and caching', async () => {
    const { headers } = await send(service.url, { path: '/api/v1/me', token })
    expect(headers).to.deep.include({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    })
    expect(headers['content-security-policy']).to.include("default-src 'none'")
  })

  it('answers what is no HTTP with a problem document', async () => {
    const { head, problem } = problemOf(await exchange('nonsense\r\n\r\n'))
    expect(head).to.match(/^HTTP\/1\.1 4\d\d .*\r\n/)
    expect(head).to.include('application/problem+json')
    expect(head).to.include(`X-Request-Id: ${problem.request_id}`)
  })

  it('answers a method that nobody knows with 405', async () => {
    const { head, problem } = problemOf(await exchange('BREW / HTTP/1.1\r\nHost: x\r\n\r\n'))
    expect(head).to.match(/^HTTP\/1\.1 405 /)
    expect(head).to.include('\r\nAllow: ')
    expect(problem.code).to.equal('method_not_allowed')
  })

  it('answers headers without end with 431, while they are still being sent', async () => {
    for (const length of [20_000, BODY_BYTES]) {
      const long = `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(length)}\r\n\r\n`
      const { head, problem } = problemOf(await exchange(long))
      expect(head).to.match(/^HTTP\/1\.1 431 /)
      expect(problem.code).to.equal('headers_too_large')
    }
  })

  it('answers CONNECT with 405', async () => {
    const answer = await exchange('CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\n')
    expect(answer).to.match(/^HTTP\/1\.1 405 /)
  })

  it('answers a broken chunk in the middle of a body with 400', async () => {
    const answer = await exchange(
      `POST /api/v1/measurements HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
        'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
    )
    expect(answer).to.match(/^HTTP\/1\.1 400 /)
  })

  it('refuses in words what HTTP forbids, and ends the connection', async () => {
    const chunks = 'Transfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n0\r\n\r\n'
    for (const head of [
      'GET /healthz\r\n\r\n',
      'GET /healthz HTTP/0.9\r\nHost: x\r\n\r\n',
      'GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n',
      'GET /healthz HTTP/1.1\r\n\r\n',
      'GET /healthz HTTP/1.1\r\nHost: x\r\nHOST: x\r\n\r\n',
      `POST /query?q=SHOW+DATABASES HTTP/1.0\r\nHost: x\r\n${chunks}`,
    ]) {
      const next = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'
      const { head: answer, problem } = problemOf(await exchange(head + next))
      expect(answer, head).to.match(/^HTTP\/1\.1 400 [^]*\r\nConnection: close\r\n/i)
      expect(problem.code, head).to.equal('invalid_request')
    }
    expect(await exchange('GET /healthz HTTP/1.0\r\n\r\n')).to.match(/^HTTP\/1\.1 200 /)
  })

  it('refuses what is no address, for tokens and routes alike', async () => {
    for (const address of ['/api/v1/me#x', '/healthz?#', 'ftp://x/healthz', 'healthz']) {
      const { head } = problemOf(await exchange(`GET ${address} HTTP/1.1\r\nHost: x\r\n\r\n`))
      expect(head, address).to.match(/^HTTP\/1\.1 400 /)
    }
    const answer = await exchange('GET HTTP://x/api/v1/me HTTP/1.1\r\nHost: x\r\n\r\n')
    expect(answer).to.match(/^HTTP\/1\.1 401 /)
  })

  it('writes no status into the log for a client that went away', async () => {
    const gone = open()
    gone.write(
      'POST /api/v1/measurements HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n' +
        `Authorization: Bearer ${token}\r\nContent-Type: application/json\r\n` +
        'Content-Length: 22\r\n\r\n',
    )
    // It is reading the body then.
    await once(gone, 'data')
    gone.destroy()
    await service.stop()
    expect(service.log.events.filter(({ message }) => message === 'request')).to.deep.equal([])
    service = await startService()
  })

  it('writes who made a request, how it was refused and how long it took', async () => {
    const lines = () =>
      service.log.events
        .filter(({ level, message }) => level === 'info' && message === 'request')
        .map(({ fields }) => fields)
    const method = 'POST'
    const { status, headers } = await send(service.url, {
      method,
      path: '/api/v1/measurements?secret',
      token,
      body: { sn: 'A1' },
    })
    const { id } = (await service.operations.run('token list', { user: 'a@example.org' }))[0]!
    const [{ duration_ms: durationMs, ...line } = {}] = lines()
    expect(durationMs).to.be.within(0, 10_000)
    expect(line).to.deep.equal({
      request_id: headers['x-request-id'],
      method,
      path: '/api/v1/measurements',
      status,
      code: 'validation_failed',
      client: '127.0.0.1',
      token_id: id,
    })
    await send(service.url, { path: '/api/v1/me', token: 'thd_live_x' })
    await send(service.url, { method, path: '/write', token: 'thd_live_x', body: 'a b=1' })
    await send(service.url, { method, path: '/api/v2/write', token, body: 'a b=' })
    const codes = lines().map(({ code, token_id: by }) => [code, by])
    expect(codes.slice(1)).to.deep.equal([
      ['invalid_token', undefined],
      ['invalid_token', undefined],
      [undefined, id],
    ])
  })

  it('understands an address with scheme and host', async () => {
    const answer = await exchange(
      `GET ${service.url}/healthz?x=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    )
    expect(answer).to.match(/^HTTP\/1\.1 200 /)
  })

  it('asks for an expected body only when it wants it', async () => {
    const head = (as: string) =>
      'POST /api/v1/measurements HTTP/1.1\r\nHost: x\r\nConnection: close\r\n' +
      'Expect: 100-continue\r\n' +
      `Authorization: Bearer ${as}\r\nContent-Type: application/json\r\nContent-Length: 22\r\n\r\n`
    const wanted = open()
    wanted.write(head(token))
    wanted.once('data', () => wanted.write('{"sn":"A1","temp":1.5}'))
    const answer = await text(wanted)
    expect(answer).to.match(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 /)
    const refused = open()
    refused.write(head('thd_live_x'))
    const refusal = await text(refused)
    expect(refusal).to.match(/^HTTP\/1\.1 401 /)
    expect(refusal).to.match(/\r\nConnection: close\r\n/i)
  })

  it('tells of an error of its own by the request id alone', async () => {
    await send(service.url, {
      method: 'POST',
      path: '/api/v1/measurements',
      token,
      body: { sn: 'A1', temp: 1 },
    })
    // A time that no date can show: something is broken.
    service.clock.set('+275760-09-13T00:00:00Z')
    const answer = await send(service.url, { path: '/api/v1/sensors/1/measurements', token })
    const { status, body, text: all } = answer
    expect([status, body.code]).to.deep.equal([500, 'internal_error'])
    expect(all).not.to.match(/\.ts|Invalid|RangeError/)
    const line = service.log.events.find(({ level }) => level === 'error')
    expect(line?.fields['request_id']).to.equal(body.request_id)
    expect(line?.fields['error']).to.match(/\.ts/)
  })

  it('compresses long answers and leaves short ones alone', async () => {
    const measurements = Array.from({ length: 20 }, (_, index) => ({ sn: `A${index}`, temp: 1 }))
    const path = '/api/v1/measurements/batch'
    await send(service.url, { method: 'POST', path, token, body: { measurements } })
    const ask = (address: string, encoding: string) =>
      send(service.url, {
        path: address,
        token,
        headers: { 'accept-encoding': encoding },
      })
    const long = await ask('/api/v1/sensors', 'gzip, deflate')
    expect(long.headers['content-encoding']).to.equal('gzip')
    expect((await ask('/api/v1/sensors', 'br')).headers).not.to.include.keys('content-encoding')
    expect((await ask('/api/v1/sensors', 'gzip;q=0')).headers).not.to.include.keys(
      'content-encoding',
    )
    expect((await ask('/api/v1/me', 'gzip')).headers).not.to.include.keys('content-encoding')
  })

  for (const refused of ['*;q=0', 'identity;q=0', 'gzip;q=0, identity;q=0']) {
    it(`answers in plain text whoever takes no encoding: ${refused}`, async () => {
      for (const path of ['/', '/docs', '/docs/docs.css', '/openapi.json', '/problems']) {
        const headers = { 'accept-encoding': refused }
        const answer = await send(service.url, { path, headers })
        expect(answer.status, path).to.equal(200)
        expect(answer.headers, path).not.to.include.keys('content-encoding')
        expect(answer.text, path).to.have.length.greaterThan(100)
      }
    })
  }

  it('says what is left of the allowance on every authenticated answer', async () => {
    for (const path of ['/api/v1/me', '/api/v1/nothing', '/api/v1/sensors/9/measurements']) {
      const { headers } = await send(service.url, { path, token })
      expect(headers['ratelimit']).to.match(
        /^"requests";r=\d+;t=\d+, "measurements";r=\d+;t=\d+, "live";r=\d+;t=\d+$/,
      )
      expect(headers['ratelimit-policy']).to.equal(
        '"requests";q=6000;w=60, "measurements";q=600000;w=60, "live";q=60000;w=60',
      )
    }
  })

  it('stops by itself, whatever was half sent', async () => {
    const head = `POST /api/v1/measurements HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}`
    const body = `${head}\r\nContent-Type: application/json\r\nContent-Length: 22\r\n\r\n{"sn"`
    const sockets = await Promise.all(
      ['', 'GET /he', head, body].map(async (bytes) => {
        const socket = open()
        socket.on('error', () => socket.destroy())
        await new Promise((resolve) => socket.write(bytes, resolve))
        return socket
      }),
    )
    // Comes after all of them.
    await send(service.url, { path: '/healthz' })
    await within('it stops', service.stop(), STOPPED_MS_MAX)
    for (const socket of sockets) socket.destroy()
    service = await startService()
  })

  it('answers one more request on a connection when it stops, and closes', async () => {
    const [kept, fresh] = [open(), open()]
    const ask = 'GET /api/v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer '
    kept.write(`${ask}${token}\r\n\r\n`)
    await once(kept, 'data')
    const stopped = service.stop()
    for (const socket of [kept, fresh]) {
      socket.write(`${ask}${token}\r\n\r\n`)
      expect(await text(socket)).to.match(/^HTTP\/1\.1 200 [^]*\r\nConnection: close\r\n/i)
    }
    await stopped
    service = await startService()
  })

  it('refuses what comes too late, and waits for nobody who is silent', async () => {
    const [silent, half] = [open(), open()]
    half.write('POST /api/v1/mea')
    await send(service.url, { path: '/healthz' })
    const startedMs = performance.now()
    const stopped = service.stop()
    for (const socket of [silent, half]) {
      const { head, problem } = problemOf(await text(socket))
      expect(head).to.match(/^HTTP\/1\.1 503 [^]*\r\nRetry-After: 5/)
      expect(head).to.include('\r\nConnection: close\r\n')
      expect(problem.code).to.equal('shutting_down')
    }
    await stopped
    expect(performance.now() - startedMs).to.be.below(DRAIN_MS)
    service = await startService()
  })

  it('does not reset what it has refused, whatever body comes after', async () => {
    const { hostname, port } = new URL(service.url)
    const late = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    await once(late, 'connect')
    const stopped = service.stop()
    const [refusal] = (await once(late, 'data')) as [Buffer]
    expect(refusal.toString()).to.match(/^HTTP\/1\.1 503 /)
    const head = `POST /api/v1/measurements HTTP/1.1\r\nHost: x\r\nContent-Length: ${BODY_BYTES}`
    late.write(`${head}\r\n\r\n${' '.repeat(BODY_BYTES)}`)
    await stopped
    // After a reset, that fails.
    await promisify(late.write.bind(late) as Write)('x')
    late.destroy()
    service = await startService()
  })

  it('answers what is under way when it stops, and closes', async () => {
    const agent = new Agent({ keepAlive: true })
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      expect: '100-continue',
    }
    const path = '/api/v1/measurements'
    const upload = request(service.url + path, { method: 'POST', headers, agent })
    upload.write('{"sn":"A1",')
    await new Promise((resolve) => upload.once('continue', resolve))
    const stopped = service.stop()
    upload.end('"temp":1.5}')
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      upload.once('response', resolve)
      upload.once('error', reject)
    })
    expect(answer.statusCode).to.equal(201)
    expect(answer.headers.connection).to.equal('close')
    answer.resume()
    await stopped
    service = await startService()
  })
})
