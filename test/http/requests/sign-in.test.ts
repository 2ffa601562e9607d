// Requests to sign in. Goal: what cannot be right never reaches the provider.

import { expect } from 'chai'
import { gzipSync } from 'node:zlib'
import { BASE, codeOf, GRANT, REDIRECT_URI, RELAY, startMobile } from '../../support/mobile.ts'
import type { MobileTest } from '../../support/mobile.ts'
import { headOf, RawConnection } from '../../support/raw-connection.ts'
import { until } from '../../support/until.ts'

describe('a request to sign in', () => {
  let mobile: MobileTest

  before(async () => {
    mobile = await startMobile({ ALLOW_SIGN_UP: 'true' })
  })
  after(() => mobile.stop())

  const bad: readonly (readonly [string, unknown, string, string[]])[] = [
    ['no members', {}, '422', ['/code', '/code_verifier', '/redirect_uri']],
    ['an unknown member', { ...GRANT, state: 'x' }, '422', ['/state']],
    ['an empty code', { ...GRANT, code: '' }, '422', ['/code']],
    ['a short verifier', { ...GRANT, code_verifier: 'v'.repeat(42) }, '422', ['/code_verifier']],
    ['a long verifier', { ...GRANT, code_verifier: 'v'.repeat(129) }, '422', ['/code_verifier']],
    [
      'a verifier with a plus',
      { ...GRANT, code_verifier: '+'.repeat(43) },
      '422',
      ['/code_verifier'],
    ],
    [
      'another redirect URI',
      { ...GRANT, redirect_uri: `${REDIRECT_URI}/` },
      '422',
      ['/redirect_uri'],
    ],
    ['a redirect URI of another provider', { ...GRANT, redirect_uri: RELAY }, '422', ['/red']],
    ['two faults', { code: 7, code_verifier: 'v', redirect_uri: 'x' }, '422', ['/code', '/red']],
    ['no object', '"x"', '422', ['']],
    ['__proto__', '{"__proto__":{"code":"x"}}', '422', ['/__proto__', '/code']],
    ['a member twice', JSON.stringify(GRANT).replace('{', '{"code":"x",'), '422', ['/code']],
    ['no body', '', '400', []],
    ['half a body', '{"code":', '400', []],
    ['what is not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), '400', []],
    ['more than 16 KiB', ' '.repeat(16 * 1024 + 1), '413', []],
  ]
  for (const [name, body, status, pointers] of bad) {
    it(`with ${name} is refused with ${status}`, async () => {
      const answer = await mobile.post(body)
      expect(String(answer.status), answer.text).to.equal(status)
      const found = ((answer.body.errors ?? []) as { pointer: string }[]).map(
        ({ pointer }) => pointer,
      )
      for (const pointer of pointers) {
        expect(
          found.some((one) => one.startsWith(pointer)),
          answer.text,
        ).to.equal(true)
      }
      expect(mobile.forger.received).to.deep.equal([])
    })
  }

  it('is refused when it is no JSON, whatever it says it is', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    expect(codeOf(await mobile.post('code=c', headers))).to.equal('415 unsupported_media_type')
    const text = { 'content-type': 'text/plain' }
    expect(codeOf(await mobile.post(GRANT, text))).to.equal('415 unsupported_media_type')
    expect(codeOf(await mobile.post(GRANT, { 'content-encoding': 'br' }))).to.equal(
      '415 unsupported_encoding',
    )
  })

  it('may be compressed, within the same bounds', async () => {
    const headers = { 'content-encoding': 'gzip' }
    const packed = (value: unknown) => gzipSync(JSON.stringify(value))
    expect((await mobile.post(packed({ ...GRANT, code: 'packed' }), headers)).status).to.equal(200)
    const bomb = await mobile.post(gzipSync(' '.repeat(1_000_000)), headers)
    expect([codeOf(bomb), bomb.body.limit]).to.deep.equal(['413 body_too_large', 16_384])
  })

  it('knows only the providers that there are', async () => {
    for (const id of ['nobody', 'FORGER', '__proto__', 'constructor']) {
      const answer = await mobile.post(GRANT, {}, id)
      expect(codeOf(answer), id).to.equal('404 unknown_provider')
    }
  })

  it('is answered with a token that nobody stores', async () => {
    const { status, body, headers } = await mobile.signIn()
    expect(status).to.equal(200)
    expect(headers['cache-control']).to.equal('no-store')
    expect(body.data.expires_at).to.equal('2027-11-20T10:15:02.113Z')
  })
})

describe('a sign-in while the service stops', () => {
  it('is answered as before, also where the provider was never reached', async () => {
    const mobile = await startMobile()
    const connection = await RawConnection.open(mobile.service.url)
    const body = JSON.stringify({ ...GRANT, redirect_uri: RELAY })
    const length = Buffer.byteLength(body)
    const headers = { 'Content-Type': 'application/json', 'Content-Length': length }
    const expecting = { ...headers, Expect: '100-continue' }
    connection.write(headOf(['POST', `${BASE}/auth/apple`], expecting))
    expect((await connection.answer()).status).to.equal(100)
    const stopped = mobile.stop()
    const { events } = mobile.service.log
    await until('it stops', () => events.some(({ message }) => message === 'stopping'))
    connection.write(body)
    const { status, body: problem } = await connection.answer()
    expect([status, JSON.parse(problem).code]).to.deep.equal([502, 'provider_failed'])
    await stopped
  })
})

describe('attempts to sign in', () => {
  let mobile: MobileTest

  afterEach(() => mobile.stop())

  it('are limited by address, also of those with bad bodies', async () => {
    mobile = await startMobile({ RATE_LIMIT_SIGN_IN: '2', ALLOW_SIGN_UP: 'true' })
    expect((await mobile.post({})).status).to.equal(422)
    expect((await mobile.signIn()).status).to.equal(200)
    const answer = await mobile.signIn()
    expect(codeOf(answer)).to.equal('429 rate_limited')
    expect(Number(answer.headers['retry-after'])).to.be.within(1, 60)
    // Nobody believes what a stranger says of the address.
    expect((await mobile.post({}, { 'x-forwarded-for': '192.0.2.1' })).status).to.equal(429)
  })

  it('are counted for the client behind a proxy that is trusted', async () => {
    mobile = await startMobile({ RATE_LIMIT_SIGN_IN: '1', TRUST_PROXY: '127.0.0.0/8' })
    const from = (address: string) => mobile.post({}, { 'x-forwarded-for': address })
    expect((await from('192.0.2.1')).status).to.equal(422)
    expect((await from('192.0.2.2')).status).to.equal(422)
    expect((await from('198.51.100.9, 192.0.2.1')).status).to.equal(429)
  })

  it('are not limited at 0', async () => {
    mobile = await startMobile({ RATE_LIMIT_SIGN_IN: '0' })
    const answers = await Promise.all(Array.from({ length: 100 }, () => mobile.post({})))
    expect(answers.every(({ status }) => status === 422)).to.equal(true)
  })
})
