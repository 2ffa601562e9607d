// Goal: behind a proxy that shares connections among its clients, a client with a revoked token
// does no harm to others. When a client has been answered and gives up its body, HAProxy reuses the
// connection to the service although the body is incomplete there: the service must not take the
// next request for the rest of that body.
// Method: a real HAProxy with HTTP/2, and a good client beside two with a revoked token.

import { expect } from 'chai'
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2'
import { needHaproxy, startHaproxy } from '../support/haproxy.ts'
import type { Haproxy } from '../support/haproxy.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const BATCHES = 200
const BATCH_ELEMENTS = 100
/** Requests at a time of a client with a revoked token. */
const STREAMS = 4

interface Answer {
  /** 0 when there was none. */
  readonly status: number
  readonly body: string
}

describe('the service behind HAProxy', () => {
  let service: TestService
  let haproxy: Haproxy | undefined
  const sessions: ClientHttp2Session[] = []

  before(async function () {
    needHaproxy(this)
    service = await startService({ RATE_LIMIT_REQUESTS: '0', RATE_LIMIT_MEASUREMENTS: '0' })
    haproxy = await startHaproxy(service.url)
  })

  after(async () => {
    if (haproxy === undefined) return
    for (const session of sessions) session.destroy()
    await haproxy.stop()
    await service.stop()
  })

  const open = () => {
    const session = haproxy?.open() ?? expect.fail('no HAProxy')
    sessions.push(session)
    return session
  }

  it('takes every batch of one client beside others with a revoked token', async () => {
    const token = await service.createToken('good@example.org')
    const { token: revoked, id } = await service.createTokenWithId('gone@example.org')
    await service.operations.run('token revoke', { id: String(id) })
    let isOver = false
    let nextGoodAnswer: Promise<unknown> = Promise.resolve()
    const sendRevoked = async (session: ClientHttp2Session) => {
      const statuses = new Set<number>()
      while (!isOver) {
        const body = batchOf('gone')
        const stream = request(session, revoked, body)
        const answer = answerOf(stream)
        stream.write(body.slice(0, body.length / 2))
        // On a slow network: the other half comes later, unless there is an answer by then.
        await Promise.race([answer, nextGoodAnswer])
        stream.end(body.slice(body.length / 2))
        statuses.add((await answer).status)
      }
      return [...statuses]
    }
    const revokedClients = [open(), open()].flatMap((session) =>
      Array.from({ length: STREAMS }, () => sendRevoked(session)),
    )
    const good = open()
    const refused: string[] = []
    for (let batch = 0; batch < BATCHES; batch++) {
      const body = batchOf(`good ${batch}`)
      const stream = request(good, token, body)
      const answer = answerOf(stream)
      nextGoodAnswer = answer
      stream.end(body)
      const { status, body: text } = await answer
      if (status !== 201) refused.push(`batch ${batch}: ${status} ${text}`)
    }
    isOver = true
    expect(refused, refused.slice(0, 3).join()).to.have.length(0)
    const statuses = (await Promise.all(revokedClients)).flat()
    // Many failed tokens of one address may be told to wait.
    expect([401, 429]).to.include.members(statuses)
  })
})

function batchOf(name: string): string {
  const measurements = Array.from({ length: BATCH_ELEMENTS }, (_, at) => ({
    event_id: `${name} ${at}`,
    sn: 'A1',
    temp: at / 10,
  }))
  return JSON.stringify({ measurements })
}

function request(session: ClientHttp2Session, token: string, body: string): ClientHttp2Stream {
  return session.request({
    ':method': 'POST',
    ':path': '/api/v1/measurements/batch',
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  })
}

function answerOf(stream: ClientHttp2Stream): Promise<Answer> {
  return new Promise((resolve) => {
    let status = 0
    let body = ''
    stream.setEncoding('utf8')
    stream.once('response', (headers) => {
      status = headers[':status'] ?? 0
      if (!stream.writableEnded) stream.once('end', () => stream.close())
    })
    stream.on('data', (text: string) => {
      body += text
    })
    stream.once('error', (error) => {
      body += String(error)
    })
    stream.once('close', () => resolve({ status, body }))
  })
}
