// Goal: no body ends the service or makes it say more than anybody reads; every invalid element is
// named all the same. Method: bodies that were made for it, against the whole service.

import { expect } from 'chai'
import { gzipSync } from 'node:zlib'
import { send } from '../../support/http.ts'
import type { TestAnswer } from '../../support/http.ts'
import { startService } from '../../support/service.ts'
import type { TestService } from '../../support/service.ts'

interface Fault {
  readonly index: number
  readonly pointer: string
  readonly code: string
}

describe('a hostile body', () => {
  let service: TestService
  let token: string

  beforeEach(async () => {
    service = await startService()
    token = await service.createToken('a@example.org')
  })

  afterEach(async () => {
    // It lives, and nothing was stored.
    const { body } = await send(service.url, { path: '/api/v1/sensors', token })
    expect(body.data).to.deep.equal([])
    expect((await submit({ sn: 'A1', temp: 1 })).status).to.equal(201)
    await service.stop()
  })

  const submit = (body: unknown): Promise<TestAnswer> =>
    send(service.url, { method: 'POST', path: '/api/v1/measurements', token, body })
  const submitBatch = (measurements: unknown[]): Promise<TestAnswer> =>
    send(service.url, {
      method: 'POST',
      path: '/api/v1/measurements/batch',
      token,
      body: gzipSync(JSON.stringify({ measurements })),
      headers: { 'content-encoding': 'gzip' },
    })
  const faultsOf = (answer: TestAnswer): Fault[] => {
    expect([answer.status, answer.body.code]).to.deep.equal([422, 'validation_failed'])
    return answer.body.errors as Fault[]
  }
  const membersOf = (count: number, of = '') =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`unknown${of}_${at}`, at]))

  it('with more faults than are told does not hide an unfit element behind them', async () => {
    const many = Array.from({ length: 499 }, (_, at) => membersOf(16, `${at}`))
    for (const sn of [2, true, [], {}, ['A1'], { toLowerCase: 1 }]) {
      const faults = faultsOf(await submitBatch([...many, { sn, temp: 1 }]))
      expect(new Set(faults.map(({ index }) => index)).size).to.equal(500)
      expect(faults.at(-1)).to.deep.include({ pointer: '/measurements/499/sn', code: 'type' })
    }
  })

  it('of thousands of members is one fault', async () => {
    const [fault, ...more] = faultsOf(await submit(membersOf(4_100)))
    expect([fault?.pointer, fault?.code, more]).to.deep.equal(['', 'maxProperties', []])
    const elements = Array.from({ length: 480 }, () => membersOf(400))
    const faults = faultsOf(await submitBatch([{ sn: 'A1', temp: 1 }, ...elements]))
    expect(faults.map(({ index, code }) => [index, code])).to.deep.equal(
      elements.map((_, at) => [at + 1, 'maxProperties']),
    )
  })

  it('gets eight faults an element at most, and 256 KiB of them', async () => {
    const name = '\u0001'.repeat(100)
    const elements = Array.from({ length: 500 }, (_, at) => ({
      event_id: `${at}\u0001`.padEnd(128, '\u0001'),
      ...Object.fromEntries(Array.from({ length: 9 }, (__, member) => [name + member, 1])),
    }))
    const answer = await submitBatch(elements)
    const faults = faultsOf(answer)
    expect(Buffer.byteLength(JSON.stringify(faults))).to.be.at.most(256 * 1024)
    expect(new Set(faults.map(({ index }) => index)).size).to.equal(500)
    const [only] = [await submitBatch(elements.slice(0, 1))]
    expect(faultsOf(only)).to.have.length(8)
  })

  it('cannot make an error of a member that calls itself a method', async () => {
    for (const name of ['toString', 'valueOf', 'toJSON', '__proto__', 'constructor', 'length']) {
      const value: unknown = JSON.parse(`{"${name}":1}`)
      for (const member of ['sn', 'temp', 'event_id', 'timestamp']) {
        const element = { sn: 'A1', temp: 1, [member]: value }
        const pointers = faultsOf(await submit(element)).map(({ pointer }) => pointer)
        expect(pointers).to.deep.equal([`/${member}`])
        faultsOf(await submitBatch([element, { sn: 'A1', temp: 1 }]))
      }
      faultsOf(await submit(JSON.stringify({ sn: 'A1', temp: 1 }).replace('sn', name)))
      faultsOf(await submit(JSON.stringify(value)))
    }
  })

  it('is charged like one that was taken, by its bytes where it is long', async () => {
    const left = ({ headers }: TestAnswer) =>
      Number(/"measurements";r=(\d+)/.exec(String(headers['ratelimit']))?.[1])
    const before = left(await send(service.url, { path: '/api/v1/me', token }))
    const batch = await submitBatch(Array.from({ length: 500 }, () => ({ sn: 'A1' })))
    expect(before - left(batch)).to.equal(500)
    const long = await submit('['.repeat(4 * 2 ** 20))
    expect(long.body.code).to.equal('malformed_json')
    expect(left(batch) - left(long)).to.equal((4 * 2 ** 20) / 256)
  })
})
