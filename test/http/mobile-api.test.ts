// The mobile API. Goal: an app learns what it needs, and a mobile token opens this API alone.

import { expect } from 'chai'
import { MINUTE_MS } from '../../src/domain/time.ts'
import { send } from '../support/http.ts'
import { BASE, codeOf, REDIRECT_URI, RELAY, startMobile } from '../support/mobile.ts'
import type { MobileTest } from '../support/mobile.ts'

const KIB = 1_024

describe('bootstrap', () => {
  let mobile: MobileTest

  before(async () => {
    mobile = await startMobile({ APP_NAME: 'Cellar', LINK_PRIVACY: 'https://example.org/privacy' })
  })
  after(() => mobile.stop())

  it('tells an app what it has to know, without a token', async () => {
    const { status, body } = await send(mobile.service.url, { path: `${BASE}/bootstrap` })
    expect(status).to.equal(200)
    expect(body.data.app).to.deep.equal({
      name: 'Cellar',
      version: '0.1.0',
      minimum_version: null,
    })
    expect(body.data.links).to.deep.equal({ privacy: 'https://example.org/privacy' })
    expect(body.data.callback_url).to.equal(REDIRECT_URI)
    const [apple, forged] = body.data.sign_in_providers
    expect(apple).to.include({ id: 'apple', redirect_uri: RELAY, authorization_endpoint: null })
    expect(forged).to.deep.equal({
      id: 'forger',
      name: 'FORGER',
      issuer: mobile.forger.issuer,
      client_id: 'thermolog-app',
      authorization_endpoint: `${mobile.forger.issuer}/auth`,
      redirect_uri: REDIRECT_URI,
      scopes: ['openid', 'email', 'profile'],
      code_challenge_methods: ['S256'],
    })
  })

  it('answers 304 while nothing has changed', async () => {
    const path = `${BASE}/bootstrap`
    const { headers } = await send(mobile.service.url, { path })
    const known = { 'if-none-match': headers.etag ?? '' }
    const again = await send(mobile.service.url, { path, headers: known })
    expect([again.status, again.text, again.headers.etag]).to.deep.equal([304, '', headers.etag])
  })

  it('refuses parameters, and other methods whatever the token', async () => {
    const path = `${BASE}/bootstrap`
    expect(codeOf(await send(mobile.service.url, { path: `${path}?x=1` }))).to.equal(
      '422 validation_failed',
    )
    const token = await mobile.service.createToken('a@example.org')
    for (const caller of [{}, { token }]) {
      const refused = await send(mobile.service.url, { path, ...caller, method: 'DELETE' })
      expect(codeOf(refused)).to.equal('405 method_not_allowed')
      expect(refused.headers.allow).to.equal('GET, HEAD')
    }
  })
})

describe('what is refused without a token', () => {
  let mobile: MobileTest

  before(async () => {
    mobile = await startMobile()
  })
  after(() => mobile.stop())

  const refusalOf = async (query: string) => {
    const answer = await send(mobile.service.url, { path: `${BASE}/bootstrap?${query}` })
    expect(codeOf(answer)).to.equal('422 validation_failed')
    return answer
  }

  it('is one fault of a query with many parameters', async () => {
    const { text, body } = await refusalOf(Array.from({ length: 3_000 }, (_, at) => at).join('&'))
    expect(body.errors).to.deep.equal([
      {
        pointer: '',
        code: 'maxProperties',
        detail: 'the query has more than 32 parameters',
      },
    ])
    expect(text.length).to.be.lessThan(KIB)
  })

  it('is told in less than 64 KiB', async () => {
    const longest = Array.from({ length: 32 }, (_, at) => `${at}${'%01'.repeat(150)}`).join('&')
    const { text, body } = await refusalOf(longest)
    expect(body.errors).to.have.lengthOf(32)
    expect(text.length).to.be.lessThan(32 * KIB)
  })
})

describe('a mobile token', () => {
  let mobile: MobileTest

  let token: string

  before(async () => {
    mobile = await startMobile({ ALLOW_SIGN_UP: 'true' })
    token = await mobile.tokenOf()
    await mobile.submit('ana@example.org', { sn: 'A1', temp: 20 })
  })
  after(() => mobile.stop())

  const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']
  const paths = ['', '/me', '/sensors', '/measurements', '/measurements/batch', '/nothing'].concat(
    ['', '/measurements', '/measurements?bucket=raw'].map((path) => `/sensors/1${path}`),
  )
  for (const path of paths) {
    it(`never gets through to /api/v1${path}`, async () => {
      for (const method of methods) {
        const body = method === 'POST' || method === 'PATCH' ? { alias: 'mine' } : undefined
        const answer = await send(mobile.service.url, {
          method,
          path: `/api/v1${path}`,
          token,
          body,
        })
        expect(answer.status, method).to.equal(403)
        if (method !== 'HEAD') expect(answer.body.code).to.equal('wrong_token_kind')
      }
      expect((await mobile.get('/sensors', token)).body.data).to.have.lengthOf(1)
    })
  }

  it('writes nothing on its own API but name and compensation', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      for (const path of ['/me', '/dashboard', '/sensors', '/sensors/1/measurements']) {
        const answer = await send(mobile.service.url, { method, path: BASE + path, token })
        expect(codeOf(answer)).to.equal('405 method_not_allowed')
        expect(answer.headers.allow).to.equal('GET, HEAD')
      }
      if (method === 'PATCH') continue
      const sensor = { method, path: `${BASE}/sensors/1`, token }
      expect(codeOf(await send(mobile.service.url, sensor))).to.equal('405 method_not_allowed')
    }
    const body = { alias: 'Cellar', compensation: -0.5 }
    const patch = { method: 'PATCH', path: `${BASE}/sensors/1`, token, body }
    expect((await send(mobile.service.url, patch)).body.data).to.include(body)
    expect((await mobile.get('/sensors/1', token)).body.data).to.include(body)
    const unfit = await send(mobile.service.url, { ...patch, body: { alias: ' ' } })
    expect(codeOf(unfit)).to.equal('422 validation_failed')
  })

  it('changes nothing where the operator does not let it', async () => {
    const strict = await startMobile({ MOBILE_EDITS: 'false', APP_MINIMUM_VERSION: '2.1' })
    await strict.submit('ana@example.org', { sn: 'A1', temp: 1 })
    const own = await strict.tokenOf()
    const body = { alias: 'Cellar' }
    const patch = { method: 'PATCH', path: `${BASE}/sensors/1`, token: own, body }
    expect(codeOf(await send(strict.service.url, patch))).to.equal('403 insufficient_scope')
    const bootstrap = await send(strict.service.url, { path: `${BASE}/bootstrap` })
    expect(bootstrap.body.data.app.minimum_version).to.equal('2.1')
    expect(bootstrap.body.data.offline_after_seconds).to.equal(900)
    await strict.stop()
  })

  it('is the only one that works on this API', async () => {
    const daemon = await mobile.service.createToken('ana@example.org')
    for (const path of ['/me', '/dashboard', '/sensors', '/nothing']) {
      expect(codeOf(await mobile.get(path, daemon))).to.equal('403 wrong_token_kind')
      expect(codeOf(await send(mobile.service.url, { path: BASE + path }))).to.equal(
        '401 missing_token',
      )
    }
  })

  it('shows the dashboard until something changes', async () => {
    for (const path of ['/dashboard', '/sensors']) {
      const first = await mobile.get(path, token)
      const tag = first.headers.etag ?? ''
      const again = await mobile.get(path, token, { 'if-none-match': tag })
      expect([again.status, again.text]).to.deep.equal([304, ''])
    }
    const tag = (await mobile.get('/dashboard', token)).headers.etag ?? ''
    mobile.service.clock.advanceMs(16 * MINUTE_MS)
    const silent = await mobile.get('/dashboard', token, { 'if-none-match': tag })
    expect(silent.body.data).to.include({ sensors_total: 1, sensors_online: 0 })
  })

  it('shows a thousand sensors, and that nothing is new without them', async () => {
    for (let batch = 0; batch < 2; batch++) {
      const measurements = Array.from({ length: 500 }, (_, index) => ({
        sn: `M${batch * 500 + index}`,
        temp: 20,
      }))
      await mobile.submit('many@example.org', { measurements })
    }
    const many = await mobile.tokenOf({ claims: { sub: 'many', email: 'many@example.org' } })
    const { body, headers } = await mobile.get('/dashboard', many)
    expect(body.data.sensors_total).to.equal(1_000)
    const known = { 'if-none-match': headers.etag ?? '' }
    const again = await mobile.get('/dashboard', many, known)
    expect([again.status, again.text]).to.deep.equal([304, ''])
  })

  it('is in the list of the operator, who can revoke it', async () => {
    const tokens = await mobile.service.operations.run('token list', { user: 'ana@example.org' })
    const [listed] = tokens
    expect(listed).to.include({ kind: 'mobile', name: 'forger' })
    await mobile.service.operations.run('token revoke', { id: String(listed?.id ?? 0) })
    expect(codeOf(await mobile.get('/me', token))).to.equal('401 invalid_token')
  })
})
