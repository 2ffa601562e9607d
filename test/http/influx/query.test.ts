// What `/query` does before it reads a statement: on whose allowance a request counts, how long its
// form may be, and which statements need no token.

import { expect } from 'chai'
import { send, sendUnchecked } from '../../support/http.ts'
import type { TestAnswer, TestRequest } from '../../support/http.ts'
import { startMobile } from '../../support/mobile.ts'
import type { MobileTest } from '../../support/mobile.ts'
import { startService } from '../../support/service.ts'

const OPEN_PER_MINUTE = 600
const AT_ONCE = 50
const STATEMENT_BYTES_MAX = 64 * 1024
const SHORT_FORM_BYTES_MAX = 16 * 1024

interface Question {
  readonly q?: string
  readonly token?: string | undefined
  /** The client behind the proxy; default: the proxy itself. */
  readonly from?: string
  readonly type?: string
}

describe('/query', () => {
  let mobile: MobileTest

  // With this machine as the proxy.
  before(async () => {
    mobile = await startMobile({ TRUST_PROXY: '127.0.0.1', ALLOW_SIGN_UP: 'true' })
  })
  after(() => mobile.stop())

  const orderOf = ({ q = 'SHOW DATABASES', token, from, type }: Question): TestRequest => ({
    method: 'POST',
    path: '/query',
    body: new URLSearchParams({ q }).toString(),
    headers: {
      'content-type': type ?? 'application/x-www-form-urlencoded',
      ...(token !== undefined && { authorization: `Token ${token}` }),
      ...(from !== undefined && { 'x-forwarded-for': from }),
    },
  })
  const ask = (question: Question): Promise<TestAnswer> =>
    send(mobile.service.url, orderOf(question))
  const askOften = async (times: number, question: (time: number) => Question) => {
    const statuses = new Set<number>()
    for (let at = 0; at < times; at += AT_ONCE) {
      const asked = Array.from({ length: AT_ONCE }, (_, each) =>
        sendUnchecked(mobile.service.url, orderOf(question(at + each))),
      )
      for (const { status } of await Promise.all(asked)) statuses.add(status)
    }
    return [...statuses]
  }

  it('counts what comes without a valid token by address, whatever it is', async () => {
    const daemon = await mobile.service.createToken('a@example.org')
    const app = await mobile.tokenOf()
    const tokens = [undefined, 'thd_live_x', app]
    const from = '203.0.113.7'
    const asked = (time: number) => ({ from, token: tokens[time % tokens.length] })
    expect(await askOften(OPEN_PER_MINUTE, asked)).to.deep.equal([200])
    for (const token of tokens) {
      const { status, headers, body } = await ask({ from, token })
      expect([status, body.error]).to.deep.equal([429, 'rate limited'])
      expect(Number(headers['retry-after'])).to.be.within(1, 60)
    }
    expect((await ask({ from, q: 'SELECT 1' })).status).to.equal(429)
    expect((await ask({ from, token: daemon })).status).to.equal(200)
    expect((await ask({ from: '203.0.113.8' })).status).to.equal(200)
  })

  it('does not count proxies and this machine', async () => {
    expect(await askOften(OPEN_PER_MINUTE + AT_ONCE, () => ({}))).to.deep.equal([200])
    const from = '127.0.0.2'
    expect(await askOften(OPEN_PER_MINUTE + AT_ONCE, () => ({ from }))).to.deep.equal([200])
  })

  it('counts what comes with a valid token on its allowance, before anything is read', async () => {
    const service = await startService({ RATE_LIMIT_REQUESTS: '1' })
    const token = await service.createToken('a@example.org')
    const first = await send(service.url, orderOf({ token }))
    expect([first.status, first.body.results[0].series[0].name]).to.deep.equal([200, 'databases'])
    expect(first.headers['ratelimit']).to.match(/^"requests";r=0;/)
    expect(first.headers['thermolog-store']).to.be.a('string')
    const spent = await send(service.url, orderOf({ token, type: 'text/plain' }))
    await service.stop()
    expect([spent.status, spent.body.error]).to.deep.equal([429, 'rate limited'])
    expect(Number(spent.headers['retry-after'])).to.be.within(1, 60)
  })

  it('tells failing tokens to wait when they ask for more than they may', async () => {
    const unknown = { token: 'thd_live_x', from: '203.0.113.9' }
    const reading = { ...unknown, q: 'SHOW MEASUREMENTS' }
    for (let time = 0; time < 60; time++) expect((await ask(reading)).status).to.equal(401)
    expect((await ask(reading)).status).to.equal(429)
    expect((await ask(unknown)).status).to.equal(200)
  })

  it('reads a long form of nobody without a valid token', async () => {
    const daemon = await mobile.service.createToken('a@example.org')
    const app = await mobile.tokenOf()
    const q = `SHOW MEASUREMENTS${' '.repeat(SHORT_FORM_BYTES_MAX)}`
    const error = `body too large: the limit is ${SHORT_FORM_BYTES_MAX}`
    const asked = [undefined, 'thd_live_x', app].map((token) => ask({ token, q }))
    for (const { status, body } of await Promise.all(asked)) {
      expect([status, body.error]).to.deep.equal([413, error])
    }
    expect((await ask({ token: daemon, q })).status).to.equal(200)
  })

  it('looks at no more parameters of a form than anybody sends', async () => {
    const token = await mobile.service.createToken('a@example.org')
    const behind = (others: number) => {
      const body = `${'a=1&'.repeat(others)}q=SHOW+DATABASES`
      return send(mobile.service.url, { ...orderOf({ token }), body })
    }
    expect((await behind(63)).status).to.equal(200)
    expect((await behind(64)).status).to.equal(400)
  })

  it('looks at no statement that is too long', async () => {
    const token = await mobile.service.createToken('a@example.org')
    for (const q of ['SHOW DATABASES', 'CREATE DATABASE a', 'SELECT 1']) {
      const { status, body } = await ask({ token, q: q.padEnd(STATEMENT_BYTES_MAX + 1) })
      const error = `a statement has at most ${STATEMENT_BYTES_MAX} bytes`
      expect([status, body.error]).to.deep.equal([400, error])
    }
  })

  it('answers two statements without a token, and with one that may only write', async () => {
    const token = await mobile.service.createToken('a@example.org', {
      scope: ['measurements:write'],
    })
    const databases = [['thermolog']]
    const OPEN: readonly (readonly [q: string, values: unknown])[] = [
      ['CREATE DATABASE x', undefined],
      [' create\n database "a b" WITH DURATION 1d; ', undefined],
      ['show databases', databases],
      ['\tSHOW  DATABASES ; ', databases],
      ['Show Databases;', databases],
    ]
    for (const [q, values] of OPEN) {
      for (const as of [undefined, token]) {
        const { status, body } = await ask({ q, token: as })
        expect([status, body.results?.[0].series?.[0].values], q).to.deep.equal([200, values])
      }
    }
    const CLOSED = ['', ';', 'CREATE DATABASE', 'CREATE DATABASE ;', 'CREATEDATABASE x']
    const MORE = ['SHOW DATABASES x', 'SHOW MEASUREMENTS', `SHOW DATABASES${' '.repeat(2_000)}`]
    for (const q of [...CLOSED, ...MORE]) {
      expect((await ask({ q })).status, q).to.equal(401)
      expect((await ask({ q, token })).status, q).to.equal(403)
    }
  })
})
