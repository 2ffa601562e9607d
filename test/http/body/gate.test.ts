// The gate that every body passes. Goal: every way in which a body can end settles the reading, and
// gives its share of the budget back when its request is answered. Method: a plain server whose
// only work is the reading.

import { ClientGone } from '../../../src/http/call/call.ts'
import { expect } from 'chai'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { ServiceError } from '../../../src/domain/errors.ts'
import { BodyGate, jsonBody } from '../../../src/http/body/gate.ts'
import type { BodyState, Sending } from '../../../src/http/body/gate.ts'
import { readJson } from '../../../src/http/body/read-json.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { sendUnchecked } from '../../support/http.ts'
import { until } from '../../support/until.ts'

const MIB = 2 ** 20

describe('BodyGate', () => {
  let gate: BodyGate
  let server: Server
  let url: string
  let outcomes: string[]
  let onOutcome: () => void
  /** Until then a body that was read is not answered. */
  let held: Promise<void> | undefined

  beforeEach(async () => {
    gate = new BodyGate(6 * MIB, systemClock)
    outcomes = []
    held = undefined
    onOutcome = () => {}
    server = createServer((request, response) => {
      const user = request.headers['x-user']
      const userId = user === undefined ? undefined : Number(user)
      const state: BodyState = { bounds: jsonBody }
      const sending: Sending = { request, response, userId, state }
      const answered = async () => {
        try {
          const value = await gate.read(sending, readJson)
          await held
          return value
        } finally {
          state.body?.close()
        }
      }
      answered().then(
        (value: unknown) => {
          outcomes.push('read')
          response.end(JSON.stringify(value))
          return onOutcome()
        },
        (error: unknown) => {
          const code = error instanceof ServiceError ? error.code : 'failed'
          outcomes.push(error instanceof ClientGone ? 'gone' : code)
          response.statusCode = 400
          response.end(code)
          return onOutcome()
        },
      )
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })

  afterEach(async () => {
    expect(gate.inFlightBytes).to.equal(0)
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  const post = async (body: Buffer | string, headers: Record<string, string> = {}) =>
    (await sendUnchecked(url, { method: 'POST', path: '/', body, headers })).text
  const nextOutcome = () =>
    new Promise<void>((resolve) => {
      onOutcome = resolve
    })

  it('reads gzip, zlib and raw deflate', async () => {
    const text = JSON.stringify({ a: 'ä'.repeat(1_000) })
    expect(await post(gzipSync(text), { 'content-encoding': 'gzip' })).to.equal(text)
    expect(await post(gzipSync(text), { 'content-encoding': 'X-GZIP' })).to.equal(text)
    expect(await post(deflateSync(text), { 'content-encoding': 'deflate' })).to.equal(text)
    expect(await post(deflateRawSync(text), { 'content-encoding': 'deflate' })).to.equal(text)
  })

  it('counts bytes after decompression', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * MIB, ' '))
    expect(await post(bomb, { 'content-encoding': 'gzip' })).to.equal('body_too_large')
    const most = gzipSync('1'.padEnd(4 * MIB))
    expect(await post(most, { 'content-encoding': 'gzip' })).to.equal('1')
  })

  it('stops at the limit of a body without a length', async () => {
    const headers = { 'transfer-encoding': 'chunked' }
    expect(await post('1'.padEnd(4 * MIB + 1), headers)).to.equal('body_too_large')
  })

  it('takes cut and broken compression for a request that cannot be read', async () => {
    const packed = gzipSync(JSON.stringify({ a: 1 }))
    const headers = { 'content-encoding': 'gzip' }
    expect(await post(packed.subarray(0, -9), headers)).to.equal('invalid_request')
    expect(await post(Buffer.from('no gzip'), headers)).to.equal('invalid_request')
    expect(await post('', headers)).to.equal('invalid_request')
  })

  for (const encoding of ['identity', 'gzip']) {
    it(`settles when the client goes away in the middle of ${encoding}`, async () => {
      const whole = gzipSync(JSON.stringify({ a: 'x'.repeat(10_000) }))
      for (let time = 0; time < 20; time++) {
        const settled = nextOutcome()
        const socket = connect(Number(new URL(url).port), '127.0.0.1')
        socket.write(
          'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n' +
            `Content-Encoding: ${encoding}\r\nContent-Length: ${whole.length}\r\n\r\n`,
        )
        socket.write(whole.subarray(0, 20), () => socket.destroy())
        await settled
      }
      expect(outcomes).to.deep.equal(Array.from({ length: 20 }, () => 'gone'))
    })
  }

  it('turns away what the budget has no room for, until there is room again', async () => {
    const slow = connect(Number(new URL(url).port), '127.0.0.1')
    slow.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n')
    slow.write(`Content-Length: ${4 * MIB}\r\n\r\n`)
    slow.write(' '.repeat(3.5 * MIB))
    await until('it has arrived', () => gate.inFlightBytes >= 3.5 * MIB)
    expect(await post('1'.padEnd(3 * MIB))).to.equal('overloaded')
    const packed = gzipSync('1'.padEnd(3 * MIB))
    expect(await post(packed, { 'content-encoding': 'gzip' })).to.equal('overloaded')
    expect(await post('1')).to.equal('1')
    slow.destroy()
    await until('its room is free', () => gate.inFlightBytes === 0)
    expect(await post('1'.padEnd(3 * MIB))).to.equal('1')
  })

  it('takes all compressed bodies of a user in turn, and those of two side by side', async () => {
    const packed = gzipSync('1'.padEnd(2 * MIB))
    const postOf = (user: string) => post(packed, { 'content-encoding': 'gzip', 'x-user': user })
    const answers = await Promise.all([...'1112122221122211'].map(postOf))
    expect(answers).to.deep.equal(answers.map(() => '1'))
    const broken = packed.subarray(0, -9)
    const headers = { 'content-encoding': 'gzip', 'x-user': '1' }
    const [refused, read] = await Promise.all([post(broken, headers), post(packed, headers)])
    expect([refused, read]).to.deep.equal(['invalid_request', '1'])
  })

  it('counts what was read until it is answered, small bodies too', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    held = promise
    const small = post('1'.padEnd(100), { 'x-user': '1' })
    const large = post('1'.padEnd(MIB), { 'x-user': '2' })
    await until('both are read', () => gate.inFlightBytes === MIB + 100)
    const next = post('2'.padEnd(MIB), { 'x-user': '2' })
    await until('another waits', () => gate.inFlightBytes > MIB + 100)
    expect(gate.inFlightBytes).to.be.lessThan(1.5 * MIB)
    resolve()
    expect(await Promise.all([small, large, next])).to.deep.equal(['1', '1', '2'])
  })

  it('goes on with others of a user when one that waits has gone', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    held = promise
    const first = post('1'.padEnd(MIB), { 'x-user': '2' })
    await until('it is read', () => gate.inFlightBytes === MIB)
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nX-User: 2\r\nContent-Type: application/json\r\n')
    socket.write(`Content-Length: ${MIB}\r\n\r\n`)
    socket.write(' '.repeat(MIB - 1))
    await until('it waits', () => gate.inFlightBytes > 1.1 * MIB)
    const last = post('2'.padEnd(MIB), { 'x-user': '2' })
    socket.destroy()
    resolve()
    expect(await Promise.all([first, last])).to.deep.equal(['1', '2'])
    await until('all have ended', () => outcomes.length === 3)
    expect(outcomes).to.include('gone')
  })

  it('keeps no room for what is only announced', async () => {
    const idle = Array.from({ length: 8 }, () => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n')
      socket.write(`Content-Length: ${4 * MIB}\r\n\r\n1`)
      return socket
    })
    await until('all have begun', () => gate.inFlightBytes >= idle.length)
    expect(await post('1'.padEnd(4 * MIB))).to.equal('1')
    for (const socket of idle) socket.destroy()
    await until('its room is free', () => gate.inFlightBytes === 0)
  })
})
