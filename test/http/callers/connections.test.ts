// Goal: whoever only holds connections open, or takes no answers, keeps nobody out. Method: real
// sockets on a server that answers when the test says so; who is near is said by the test, for all
// sockets are.

import { expect } from 'chai'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { WaitingRequest } from '../../../src/http/call/call.ts'
import { ClientAddresses } from '../../../src/http/callers/client-address.ts'
import { Connections } from '../../../src/http/callers/connections.ts'
import { answerClientError, refuseTunnel } from '../../../src/http/client-error.ts'
import { FakeClock } from '../../support/clock.ts'
import { until } from '../../support/until.ts'

/** In place of ten seconds. */
const LOOK_MS = 5
/** More than the kernel keeps for both sides. */
const LONG = Buffer.alloc(32 * 2 ** 20)

class Far extends ClientAddresses {
  override isNear(): boolean {
    return false
  }
}

describe('Connections', () => {
  let server: Server
  let clock: FakeClock
  let connections: Connections
  let responses: ServerResponse[]
  let sockets: Socket[]
  /** Requests that arrived. */
  let arrived: number
  let answersAtOnce: boolean

  const start = async (addresses: ClientAddresses, connectionsMax: number, ofAddress: number) => {
    const limits = { connectionsMax, connectionsPerAddressMax: ofAddress }
    clock = new FakeClock()
    connections = new Connections({ addresses, clock }, limits)
    responses = []
    sockets = []
    arrived = 0
    answersAtOnce = false
    const handle = (_request: IncomingMessage, response: ServerResponse) => {
      responses.push(response)
      if (answersAtOnce) response.end('done')
    }
    server = createServer((request, response) => {
      arrived++
      connections.take(request, response, handle)
    })
    server.on('clientError', (error, socket) =>
      answerClientError(error, socket as Socket, connections),
    )
    server.on('connect', (_request, socket) => refuseTunnel(socket as Socket, connections))
    server.on('connection', (socket: Socket) => connections.admit(socket))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  }
  const left = () => promisify(server.getConnections.bind(server))()
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
    await until('it is closed', async () => (await left()) === 0)
  })

  describe('with requests sent at once', () => {
    /**
     * From now on each is answered. @returns how many answers come until the connection ends, which
     * the last one says
     */
    const answersTo = async (socket: Socket): Promise<number> => {
      answersAtOnce = true
      for (const response of responses) response.end('done')
      const answers = (await text(socket)).split('HTTP/1.1 200 OK').slice(1)
      const last = answers.findIndex((each) => each.includes('Connection: close'))
      expect([last, answers.at(-1)?.endsWith('done')]).to.deep.equal([answers.length - 1, true])
      return answers.length
    }

    it('begins one when the one before it is answered', async () => {
      await start(new ClientAddresses([]), 10, 512)
      const socket = await open()
      socket.write(requests(3))
      await until('all have arrived', () => arrived === 3)
      for (let count = 1; count <= 3; count++) {
        await until('one more is begun', () => responses.length === count)
        await answer(socket, responses.at(-1) ?? expect.fail('none is begun'))
      }
    })

    it('begins none while the answer before it is not taken', async () => {
      await start(new ClientAddresses([]), 10, 512)
      const socket = await open()
      socket.pause()
      socket.write(requests(2))
      await until('both have arrived', () => arrived === 2)
      responses[0]?.end(LONG)
      const other = await open()
      await answer(other, await ask(other))
      expect(responses, 'one of each').to.have.lengthOf(2)
      socket.resume()
      await until('it is taken', () => responses.length === 3)
    })

    it('begins none after an answer that ends the connection', async () => {
      await start(new ClientAddresses([]), 10, 512)
      const socket = await open()
      socket.write(requests(2))
      await until('both have arrived', () => arrived === 2)
      responses[0]?.setHeader('Connection', 'close')
      expect(await answersTo(socket)).to.equal(1)
      expect(responses).to.have.lengthOf(1)
    })

    it('notes when each has arrived, not when it is begun', async () => {
      await start(new ClientAddresses([]), 10, 512)
      const socket = await open()
      socket.write(requests(2))
      await until('both have arrived', () => arrived === 2)
      clock.advanceMs(60_000)
      await answer(socket, responses[0] ?? expect.fail('none is begun'))
      await until('the second is begun', () => responses.length === 2)
      const { arrivedAtMs } = (responses[1]?.req ?? {}) as WaitingRequest
      expect(arrivedAtMs).to.equal(clock.nowMs() - 60_000)
    })

    it('answers 64 of more, and ends without a reset while its client still sends', async () => {
      await start(new ClientAddresses([]), 10, 512)
      const many = await Promise.all([open(), open(), open()])
      for (const socket of many) socket.write(requests(100_000))
      await until('they have arrived', () => arrived === 3 * 65)
      for (const socket of many) expect(await answersTo(socket)).to.equal(64)
    })

    it('ends with the one under way if no other may wait', async () => {
      await start(new ClientAddresses([]), 100, 512)
      const many = await Promise.all(Array.from({ length: 9 }, open))
      for (const socket of many) socket.write(requests(64))
      await until('they have arrived', () => arrived >= 512 + 9)
      const late = await open()
      late.write(requests(2))
      await until('no other may wait', () => responses.length === 10)
      responses.splice(0, responses.length - 1)
      expect(await answersTo(late)).to.equal(1)
    })

    it('reads no more of a client that never waits', async () => {
      await start(new ClientAddresses([]), 10, 512)
      const socket = await open()
      socket.write(requests(300_000))
      await until('the client is held up', () => socket.writableNeedDrain && arrived > 64)
      expect(arrived).to.equal(65)
      answersAtOnce = true
      responses[0]?.end('done')
      await until('it has ended at the server', async () => (await left()) === 0)
      expect([arrived, responses.length]).to.deep.equal([65, 64])
    })

    it('goes on where a client waits for its answers after 64', async () => {
      await start(new ClientAddresses([]), 10, 512)
      answersAtOnce = true
      const socket = await open()
      let received = ''
      socket.on('data', (bytes: Buffer) => (received += bytes.toString()))
      for (let round = 1; round <= 3; round++) {
        socket.write(requests(64))
        await until('all are answered', () => received.match(/done/g)?.length === 64 * round)
      }
    })

    it('lets 512 of all connections wait, and forgets those of one that is gone', async () => {
      await start(new ClientAddresses([]), 100, 512)
      const many: Socket[] = []
      // One of each does not wait.
      for (let count = 0; count < 8; count++) many.push((await open()).setEncoding('utf8'))
      for (const socket of many) socket.write(requests(64))
      await until('they have arrived', () => arrived === 512)
      const late = await open()
      late.write(requests(20))
      await until('the first beyond has arrived', () => arrived === 512 + 10)
      many[0]?.destroy()
      await until('it is forgotten', async () => (await left()) === many.length)
      const next = await open()
      next.write(requests(20))
      await until('all have arrived', () => arrived === 512 + 10 + 20)
      expect(await answersTo(late)).to.equal(9)
    })

    it('answers what came before a request for a tunnel, and ends', async () => {
      await start(new ClientAddresses([]), 10, 512)
      const socket = await open()
      socket.write(`${requests(3)}CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n`)
      await until('they have arrived', () => arrived === 3)
      expect(await answersTo(socket)).to.equal(3)
    })

    it('outlives a client that resets after a request for a tunnel', async () => {
      await start(new ClientAddresses([]), 10, 512)
      const socket = await open()
      socket.write(`${requests(1)}CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n`)
      await until('it is read', () => arrived === 1)
      socket.resetAndDestroy()
      await until('it is closed', async () => (await left()) === 0)
    })

    it('answers what came before something that is no request, and ends', async () => {
      await start(new ClientAddresses([]), 10, 512)
      const socket = await open()
      socket.write(`${requests(3)}\r\nnonsense\r\n\r\n`)
      await until('they have arrived', () => arrived === 3)
      expect(await answersTo(socket)).to.equal(3)
    })

    it('answers what came before a request with a broken body, and ends', async () => {
      await start(new ClientAddresses([]), 10, 512)
      const socket = await open()
      const head = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n'
      socket.write(`${requests(2)}${head}nonsense\r\n`)
      await until('they have arrived', () => arrived === 3)
      expect(await answersTo(socket)).to.equal(2)
      expect(responses).to.have.lengthOf(2)
    })
  })

  describe('while answers are not taken', () => {
    /** As a minute passes. */
    const look = async (times = 7) => {
      for (let time = 0; time < times; time++) {
        connections.closeUntaken()
        await setTimeout(LOOK_MS)
      }
    }

    it('ends one whose client takes nothing, whatever it goes on sending', async () => {
      await start(new ClientAddresses([]), 10, 512)
      const socket = (await open()).pause()
      const response = await ask(socket)
      response.end(LONG)
      await look(5)
      expect(response.destroyed).to.equal(false)
      socket.write('x')
      await look(3)
      expect([response.destroyed, response.writableFinished]).to.deep.equal([true, false])
    })

    it('goes on where a client takes a long answer slowly', async () => {
      await start(new ClientAddresses([]), 10, 512)
      const socket = await open()
      const response = await ask(socket)
      response.end(LONG)
      let taken = 0
      socket.on('data', ({ length }: Buffer) => (taken += length))
      await until('it is taken', async () => {
        socket.pause()
        await look(5)
        socket.resume()
        const before = taken
        await until('some is taken', () => taken >= Math.min(before + 2 ** 23, LONG.length))
        return taken > LONG.length
      })
      expect(response.writableFinished).to.equal(true)
    })

    it('goes on where the answer is not made yet', async () => {
      await start(new ClientAddresses([]), 10, 512)
      const socket = await open()
      const response = await ask(socket)
      await look()
      await answer(socket, response)
    })

    it('goes on where a body is not read', async () => {
      await start(new ClientAddresses([]), 10, 512)
      const socket = await open()
      socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345')
      await until('it arrives', () => arrived === 1)
      await look()
      socket.write('67890')
      await answer(socket, responses[0] ?? expect.fail('none is begun'))
    })

    it('goes on where a stream has nothing to say', async () => {
      await start(new ClientAddresses([]), 10, 512)
      const socket = await open()
      const response = await ask(socket)
      response.write('first')
      await once(socket, 'data')
      await look()
      await answer(socket, response)
    })

    it('goes on where a daemon has nothing to send', async () => {
      await start(new ClientAddresses([]), 10, 512)
      const socket = await open()
      for (let time = 0; time < 3; time++) {
        await answer(socket, await ask(socket))
        await look()
      }
    })
  })
})

function requests(count: number): string {
  return 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(count)
}
