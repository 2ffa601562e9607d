// Goal: whoever only holds connections open keeps nobody out. Method: real sockets on a server that
// answers when the test says so; who is near is said by the test, for all sockets are.

import { expect } from 'chai'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Server, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { ClientAddresses } from '../../../src/http/callers/client-address.ts'
import { Connections } from '../../../src/http/callers/connections.ts'
import { until } from '../../support/until.ts'

class Far extends ClientAddresses {
  override isNear(): boolean {
    return false
  }
}

describe('Connections', () => {
  let server: Server
  let connections: Connections
  let responses: ServerResponse[]
  let sockets: Socket[]
  /** Requests that arrived. */
  let arrived: number

  const start = async (addresses: ClientAddresses, connectionsMax: number, ofAddress: number) => {
    const limits = { connectionsMax, connectionsPerAddressMax: ofAddress }
    connections = new Connections(addresses, limits)
    responses = []
    sockets = []
    arrived = 0
    server = createServer((request, response) => {
      arrived++
      if (connections.noteRequest(request, response)) responses.push(response)
    })
    server.on('connection', (socket: Socket) => connections.admit(socket))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  }
  const open = async (): Promise<Socket> => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    socket.on('error', () => socket.destroy())
    sockets.push(socket)
    await Promise.race([once(socket, 'connect'), once(socket, 'close')])
    return socket
  }
  /** Has the server work on a request of a connection. */
  const ask = async (socket: Socket): Promise<ServerResponse> => {
    const before = responses.length
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await until('the request arrives', () => responses.length > before)
    return responses[before] ?? expect.fail('no request')
  }
  const answer = async (socket: Socket, response: ServerResponse): Promise<void> => {
    response.end('done')
    await once(socket, 'data')
  }

  afterEach(async () => {
    for (const socket of sockets) socket.destroy()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  it('closes the one that has been idle longest for a new one', async () => {
    await start(new ClientAddresses([]), 3, 512)
    const [first, second, third] = [await open(), await open(), await open()]
    await answer(first, await ask(first))
    const fourth = await open()
    await once(second, 'close')
    await answer(fourth, await ask(fourth))
    await answer(first, await ask(first))
    await answer(third, await ask(third))
  })

  it('refuses a new one where none is idle, and takes it when one is', async () => {
    await start(new ClientAddresses([]), 2, 512)
    const [first, second] = [await open(), await open()]
    const [working] = [await ask(first), await ask(second)]
    await once(await open(), 'close')
    await answer(first, working)
    const fourth = await open()
    await once(first, 'close')
    await answer(fourth, await ask(fourth))
  })

  it('counts those of one address unless it is near', async () => {
    await start(new Far([]), 10, 2)
    const first = await open()
    await open()
    await open()
    await once(first, 'close')
    await new Promise((resolve) => server.close(resolve) && server.closeAllConnections())
    await start(new ClientAddresses([]), 10, 2)
    const near = [await open(), await open(), await open()]
    for (const socket of near) await answer(socket, await ask(socket))
  })

  it('ends those that stay idle from one call to the next', async () => {
    await start(new ClientAddresses([]), 10, 512)
    const [silent, busy, late] = [await open(), await open(), await open()]
    const response = await ask(busy)
    await connections.endQuiet(() => 'no')
    await answer(late, await ask(late))
    await connections.endQuiet(() => 'no')
    expect(await text(silent)).to.equal('no')
    await answer(busy, response)
    await connections.endQuiet(() => 'no')
    expect(await text(late)).to.equal('no')
    await answer(busy, await ask(busy))
    await connections.endQuiet(() => 'no')
    await connections.endQuiet(() => 'no')
    expect(await text(busy)).to.equal('no')
  })

  it('reads nothing that comes after the end, and closes with the next call', async () => {
    await start(new ClientAddresses([]), 10, 512)
    const socket = connect({
      port: (server.address() as AddressInfo).port,
      host: '127.0.0.1',
      allowHalfOpen: true,
    })
    sockets.push(socket)
    await answer(socket, await ask(socket))
    await connections.endQuiet(() => 'no')
    await connections.endQuiet(() => 'no')
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    expect(await text(socket)).to.equal('no')
    expect(responses).to.have.lengthOf(1)
    await connections.endQuiet(() => 'no')
    const left = promisify(server.getConnections.bind(server))
    await until('it is closed', async () => (await left()) === 0)
  })

  it('answers 64 of those that are sent at once, and ends', async () => {
    await start(new ClientAddresses([]), 10, 512)
    const socket = await open()
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2_000))
    await until('as many as are taken have arrived', () => responses.length >= 64)
    for (const response of responses) response.end('done')
    expect((await text(socket)).match(/done/g)).to.have.lengthOf(64)
    expect(responses).to.have.lengthOf(64)
  })

  it('reads no more of a client that never waits', async () => {
    await start(new ClientAddresses([]), 10, 512)
    const socket = await open()
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(300_000))
    await until('as many as are taken have arrived', () => responses.length === 64)
    await until('the client is held up', () => socket.writableNeedDrain)
    expect(arrived).to.equal(65)
    for (const response of responses) response.end('done')
    await until('it has ended', () => socket.closed)
    expect(arrived).to.equal(65)
  })

  it('goes on where a client waits for its answers after 64', async () => {
    await start(new ClientAddresses([]), 10, 512)
    const socket = await open()
    for (let round = 1; round <= 3; round++) {
      socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(64))
      await until('they have arrived', () => responses.length === round * 64)
      const last = responses.at(-1)
      const finished = last === undefined ? undefined : once(last, 'close')
      for (const response of responses.slice(-64)) response.end('done')
      await finished
    }
  })
})
