// Goal: after a failure it is known whether the request may still have its effect. Method: a server
// that answers the first request on a socket and hangs up at the second.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
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
})
