// Goal: after a failure it is known whether the request may still have its effect, and no request
// takes longer than it may. Method: servers that hang up at the second request on a socket, and
// that never finish the first.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { expect } from 'chai'
import { InfluxConnection } from '../../src/influx/connection.ts'

describe('InfluxConnection', () => {
  it('counts what has waited for a socket in use as sent', async () => {
    let requests = 0
    const server = createServer((request, response) => {
      if (++requests === 1) setTimeout(() => response.end('{}'), 20)
      else request.socket.destroy()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const target = { url, organization: 'o', influxBucket: 'b', influxToken: 't' }
    const connection = new InfluxConnection(target, { socketsMax: 1, timeoutMs: 5_000 })
    const order = { method: 'POST', path: '/api/v2/write', body: 'x' } as const
    const [first, second] = await Promise.allSettled([
      connection.exchange(order),
      connection.exchange(order),
    ])
    expect(first.status).to.equal('fulfilled')
    expect(second).to.nested.include({ status: 'rejected', 'reason.hasBeenSent': true })
    connection.close()
    server.close()
  })

  it('gives up on what waits for a socket that stays in use, and never sends it', async () => {
    const paths: (string | undefined)[] = []
    let isFinished = false
    const server = createServer((request, response) => {
      paths.push(request.url)
      const writing = setInterval(() => {
        if (isFinished) response.end()
        else response.write('more')
      }, 20)
      response.once('close', () => clearInterval(writing))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const target = { url, organization: 'o', influxBucket: 'b', influxToken: 't' }
    const connection = new InfluxConnection(target, { socketsMax: 1, timeoutMs: 300 })
    const { chunks } = await connection.stream({ method: 'GET', path: '/long' })
    const reading = buffer(chunks)
    const waiting = await Promise.allSettled([
      connection.exchange({ method: 'POST', path: '/waiting', body: 'x' }),
      connection.stream({ method: 'GET', path: '/waiting' }),
    ])
    for (const outcome of waiting) {
      expect(outcome).to.nested.include({ status: 'rejected', 'reason.hasBeenSent': false })
    }
    isFinished = true
    await reading
    await connection.exchange({ method: 'GET', path: '/next' })
    expect(paths).to.deep.equal(['/long', '/next'])
    connection.close()
    server.close()
  })
})
