// Goal: after a failure it is known whether the request may still have its effect, no request
// takes longer than it may, and only what reads is asked again. Method: servers that hang up, that
// never finish an answer, or that answer without end.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { InfluxConnection } from '../../src/influx/connection.ts'

const WRITE = { method: 'POST', path: '/api/v2/write', body: 'x' } as const
const READ = { method: 'GET', path: '/read' } as const
const SENT = { status: 'rejected', 'reason.hasBeenSent': true }
const NEVER_SENT = { status: 'rejected', 'reason.hasBeenSent': false }

describe('InfluxConnection', () => {
  const ends: (() => void)[] = []
  afterEach(() => {
    for (const end of ends.splice(0)) end()
  })

  /** A connection with one socket to a server that answers so. */
  const connectTo = async (answer: RequestListener, { timeoutMs = 5_000, path = '' } = {}) => {
    const server = createServer(answer).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`
    const target = { url, organization: 'o', influxBucket: 'b', influxToken: 't' }
    const connection = new InfluxConnection(target, { socketsMax: 1, timeoutMs })
    ends.push(() => {
      connection.close()
      server.close()
      server.closeAllConnections()
    })
    return connection
  }

  it('counts what has waited for a socket in use as sent', async () => {
    let requests = 0
    const connection = await connectTo((request, response) => {
      if (++requests === 1) void setTimeout(20).then(() => response.end('{}'))
      else request.socket.destroy()
    })
    const [first, second] = await Promise.allSettled([
      connection.exchange(WRITE),
      connection.exchange(WRITE),
    ])
    expect(first.status).to.equal('fulfilled')
    expect(second).to.nested.include(SENT)
  })

  it('gives up on what waits for a socket that stays in use, and never sends it', async () => {
    const paths: (string | undefined)[] = []
    let isFinished = false
    const connection = await connectTo(
      (request, response) => {
        paths.push(request.url)
        const writing = setInterval(() => {
          if (isFinished) response.end()
          else response.write('more')
        }, 20)
        response.once('close', () => clearInterval(writing))
      },
      { timeoutMs: 300 },
    )
    const { chunks } = await connection.stream({ method: 'GET', path: '/long' })
    const reading = buffer(chunks)
    const waiting = await Promise.allSettled([
      connection.exchange({ ...WRITE, path: '/waiting' }),
      connection.stream({ ...READ, path: '/waiting' }),
    ])
    for (const outcome of waiting) expect(outcome).to.nested.include(NEVER_SENT)
    isFinished = true
    await reading
    await connection.exchange({ method: 'GET', path: '/next' })
    expect(paths).to.deep.equal(['/long', '/next'])
  })

  it('asks once more for what only reads when its socket is reset, and for no write', async () => {
    const paths: (string | undefined)[] = []
    const connection = await connectTo((request, response) => {
      paths.push(request.url)
      if (paths.length % 2 === 1) response.end('whole')
      else request.socket.resetAndDestroy()
    })
    await connection.exchange({ method: 'GET', path: '/first' })
    const { chunks } = await connection.stream(READ)
    expect(await text(chunks)).to.equal('whole')
    const [write] = await Promise.allSettled([connection.exchange(WRITE)])
    expect(write).to.nested.include(SENT)
    expect(paths).to.deep.equal(['/first', READ.path, READ.path, WRITE.path])
  })

  it('does not take the time that its reader needs for silence', async () => {
    let goOn = () => {}
    const connection = await connectTo(
      (_, response) => {
        response.write('begun, ')
        goOn = () => response.end('finished')
      },
      { timeoutMs: 100 },
    )
    const { chunks } = await connection.stream(READ)
    let answer = ''
    for await (const chunk of chunks) {
      answer += String(chunk)
      await setTimeout(300)
      goOn()
    }
    expect(answer).to.equal('begun, finished')
  })

  it('takes no whole answer without end', async () => {
    const mebibyte = Buffer.alloc(1_048_576)
    const connection = await connectTo((_, response) => {
      const write = () => {
        while (response.write(mebibyte));
      }
      response.on('drain', write)
      write()
    })
    const [outcome] = await Promise.allSettled([connection.exchange(READ)])
    expect(outcome).to.nested.include(SENT)
    expect(outcome).to.have.nested.property('reason.message').that.includes('too long')
  })

  it('asks below the path of its URL', async () => {
    const connection = await connectTo((request, response) => response.end(request.url), {
      path: '/behind/a/proxy/',
    })
    const { body } = await connection.exchange({ method: 'GET', path: '/ready?a=%2F+b' })
    expect(body).to.equal('/behind/a/proxy/ready?a=%2F+b')
  })

  it('ends what is under way when it is closed', async () => {
    const connection = await connectTo(() => connection.close())
    const [outcome] = await Promise.allSettled([connection.exchange(WRITE)])
    expect(outcome).to.nested.include(SENT)
    expect(outcome).to.have.nested.property('reason.isSilence', false)
  })

  it('asks nothing once more when it is closed', async () => {
    let requests = 0
    const connection = await connectTo(() => {
      requests++
      connection.close()
    })
    const [outcome] = await Promise.allSettled([connection.stream(READ)])
    expect(outcome).to.nested.include({ status: 'rejected', 'reason.isSilence': false })
    expect(requests).to.equal(1)
  })
})
