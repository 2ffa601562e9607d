// Signing in. Goal: every way in which it can go wrong ends in the problem that is promised and
// makes no user and no token, and a person gets the one account that is theirs. Method: the service
// and a provider that can forge anything.

import { expect } from 'chai'
import { DAY_MS, MINUTE_MS } from '../../src/domain/time.ts'
import type { Forgery } from '../support/forging-provider.ts'
import { send } from '../support/http.ts'
import { BASE, codeOf, GRANT, startMobile } from '../support/mobile.ts'
import type { MobileTest } from '../support/mobile.ts'

describe('a forged answer', () => {
  let mobile: MobileTest

  before(async () => {
    mobile = await startMobile({ ALLOW_SIGN_UP: 'true' })
  })
  after(() => mobile.stop())

  const forged: readonly (readonly [string, Forgery, string])[] = [
    ['for another audience', { claims: { aud: 'other' } }, '502 provider_failed'],
    ['of another issuer', { claims: { iss: 'https://x.example' } }, '502 provider_failed'],
    ['with another signature', { isSignedByOther: true }, '502 provider_failed'],
    ['without signature', { algorithm: 'none' }, '502 provider_failed'],
    ['that has run out', { claims: { exp: 1_600_000_000 } }, '502 provider_failed'],
    ['without ID token', { hasNoIdToken: true }, '502 provider_failed'],
    ['of garbage', { answer: { status: 200, body: '<' } }, '502 provider_failed'],
    ['of 500', { broken: { '/token': 'fails' } }, '502 provider_failed'],
    ['of a refusal', { answer: refusal('invalid_grant') }, '400 invalid_grant'],
    ['of an unverified address', { claims: { email_verified: false } }, '403'],
    ['of no address', { without: ['email'], userinfo: { sub: 'ana' } }, '403'],
    ['of no possible address', { claims: { email: 'ana' } }, '403'],
    ['of an address with a space before it', { claims: { email: ' ana@example.org' } }, '403'],
    ['of an address with a line end', { claims: { email: 'ana@example.org\n' } }, '403'],
  ]
  for (const [name, forgery, code] of forged) {
    it(`${name} makes no user and no token`, async () => {
      const answer = await mobile.signIn(forgery)
      expect(codeOf(answer)).to.match(new RegExp(`^${code}`))
      expect(await mobile.service.operations.run('user list', {})).to.deep.equal([])
    })
  }

  it('does not burn the code', async () => {
    mobile.forger.forgery = { broken: { '/token': 'fails' } }
    const body = { ...GRANT, code: 'tried-twice' }
    expect((await mobile.post(body)).status).to.equal(502)
    mobile.forger.forgery = {}
    expect((await mobile.post(body)).status).to.equal(200)
  })
})

describe('a sign-in that is not allowed', () => {
  let mobile: MobileTest

  beforeEach(async () => {
    mobile = await startMobile()
  })
  afterEach(() => mobile.stop())

  const refusals: readonly (readonly [string, Forgery, RegExp])[] = [
    ['an address that is unverified', { claims: { email_verified: false } }, /vouch/],
    ['an address that is unknown', { claims: { email: 'eve@example.org' } }, /no user has this/],
    ['no address', { without: ['email'], userinfo: { sub: 'ana' } }, /names no e-mail address/],
  ]
  for (const [what, forgery, hint] of refusals) {
    it(`tells ${what} in the log, and the person nothing of it`, async () => {
      const { body } = await mobile.signIn(forgery)
      expect(body).to.deep.include({ code: 'sign_in_not_allowed', status: 403 })
      expect(body.detail).not.to.match(hint)
      const { events } = mobile.service.log
      const line = events.find(({ fields }) => fields['request_id'] === body.request_id)
      expect(line?.fields['hint']).to.match(hint)
    })
  }
})

describe('a person', () => {
  let mobile: MobileTest

  beforeEach(async () => {
    mobile = await startMobile({ ALLOW_SIGN_UP: 'example.org, example.com' })
  })
  afterEach(() => mobile.stop())

  const user = async (email: string) =>
    (await mobile.service.operations.run('user list', {})).find((one) => one.email === email)

  it('gets an account of their own where that is allowed', async () => {
    expect((await mobile.signIn({ claims: { name: ' Ana\u0007 ' } })).body.data.user).to.include({
      email: 'ana@example.org',
      name: 'Ana',
    })
    for (const email of ['a@example.net', 'a@sub.example.org', '"a@example.org"@example.net']) {
      const refused = await mobile.signIn({ claims: { sub: email, email } })
      expect(codeOf(refused), email).to.equal('403 sign_in_not_allowed')
    }
    const upper = { sub: 'x', email: 'x@EXAMPLE.COM' }
    expect((await mobile.signIn({ claims: upper })).status).to.equal(200)
  })

  it('joins the account that an operator made for their address', async () => {
    const { id } = await mobile.service.operations.run('user create', {
      email: 'Ana@Example.NET',
      name: 'A',
    })
    const { body } = await mobile.signIn({ claims: { email: 'aNA@example.net' } })
    expect(body.data.user).to.deep.equal({ id, email: 'Ana@Example.NET', name: 'A' })
  })

  it('does not join by an address that nobody has verified', async () => {
    await mobile.service.operations.run('user create', { email: 'ana@example.org' })
    const { status } = await mobile.signIn({ claims: { email_verified: 'false' } })
    expect(status).to.equal(403)
    expect((await user('ana@example.org'))?.identities).to.deep.equal([])
  })

  it('does not get into the account of another who has that address', async () => {
    await mobile.signIn()
    const other = await mobile.signIn({ claims: { sub: 'eve' } })
    expect(codeOf(other)).to.equal('403 sign_in_not_allowed')
    expect((await user('ana@example.org'))?.identities).to.have.lengthOf(1)
  })

  it('is known by issuer and subject afterwards, whatever the address says', async () => {
    const { id } = (await mobile.signIn()).body.data.user
    for (const claims of [{ email: 'new@example.net' }, { email_verified: false }]) {
      expect((await mobile.signIn({ claims })).body.data.user).to.deep.include({
        id,
        email: 'ana@example.org',
      })
    }
    const without = { without: ['email'], userinfo: { sub: 'ana' } }
    expect((await mobile.signIn(without)).body.data.user.id).to.equal(id)
  })

  it('is one user, however many phones sign in at the same time', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => mobile.signIn()))
    expect(new Set(answers.map(({ body }) => body.data.user.id)).size).to.equal(1)
    expect(new Set(answers.map(({ body }) => body.data.token)).size).to.equal(8)
  })

  it('is put apart from an account by an operator, and all phones with it', async () => {
    const token = await mobile.tokenOf()
    const of = { user: 'ana@example.org' }
    await mobile.service.operations.run('user unlink', { ...of, issuer: mobile.forger.issuer })
    expect(codeOf(await mobile.get('/me', token))).to.equal('401 invalid_token')
    expect((await user(of.user))?.identities).to.deep.equal([])
  })

  it('is deleted with everything of theirs', async () => {
    const token = await mobile.tokenOf()
    const daemon = await mobile.service.createToken('ana@example.org')
    const measurement = { event_id: 'e1', sn: 'A1', temp: 1 }
    const submit = { method: 'POST', path: '/api/v1/measurements', token: daemon }
    await send(mobile.service.url, { ...submit, body: measurement })
    const { id } = (await mobile.get('/me', token)).body.data
    const deleted = await mobile.service.operations.run('user delete', { user: 'ana@example.org' })
    expect(deleted).to.deep.equal({ id, sensors: 1, measurements: 1 })
    expect(codeOf(await mobile.get('/dashboard', token))).to.equal('401 invalid_token')
    expect(codeOf(await send(mobile.service.url, { ...submit, body: measurement }))).to.equal(
      '401 invalid_token',
    )
    const again = (await mobile.signIn()).body.data
    expect(again.user.id).to.be.greaterThan(id)
    expect((await mobile.get('/sensors', again.token)).body.data).to.deep.equal([])
  })
})

describe('a code that is sent again', () => {
  let mobile: MobileTest

  beforeEach(async () => {
    mobile = await startMobile({ ALLOW_SIGN_UP: 'true' })
  })
  afterEach(() => mobile.stop())

  it('gets the same answer for two minutes, from memory', async () => {
    const [first, second] = await Promise.all([mobile.post(GRANT), mobile.post(GRANT)])
    mobile.service.clock.advanceMs(2 * MINUTE_MS - 1)
    const third = await mobile.post(GRANT)
    expect([first.status, second.text, third.text]).to.deep.equal([200, first.text, first.text])
    expect(mobile.forger.received).to.have.lengthOf(1)
    mobile.service.clock.advanceMs(1)
    const late = await mobile.post(GRANT)
    expect(late.body.data.token).not.to.equal(first.body.data.token)
    expect(mobile.forger.received).to.have.lengthOf(2)
  })

  it('is another one with another verifier or redirect URI', async () => {
    await mobile.post(GRANT)
    mobile.forger.forgery = { answer: refusal('invalid_grant') }
    const other = { ...GRANT, code_verifier: 'w'.repeat(43) }
    expect(codeOf(await mobile.post(other))).to.equal('400 invalid_grant')
    const beta = { ...GRANT, redirect_uri: 'org.example.beta:/callback' }
    expect(codeOf(await mobile.post(beta))).to.equal('400 invalid_grant')
  })

  it('is not presented again when the provider took it and did not show its keys', async () => {
    mobile.forger.forgery = { broken: { '/keys': 'fails' } }
    expect(codeOf(await mobile.post(GRANT))).to.equal('502 provider_failed')
    mobile.forger.forgery = { answer: refusal('invalid_grant') }
    expect((await mobile.post(GRANT)).status).to.equal(200)
    expect(mobile.forger.received).to.have.lengthOf(1)
  })

  it('gets nothing once the token is revoked', async () => {
    const { token } = (await mobile.post(GRANT)).body.data
    await send(mobile.service.url, { method: 'POST', path: `${BASE}/logout`, token })
    expect(codeOf(await mobile.post(GRANT))).to.equal('400 invalid_grant')
    expect(mobile.forger.received).to.have.lengthOf(1)
  })
})

describe('the life of a mobile token', () => {
  let mobile: MobileTest

  beforeEach(async () => {
    mobile = await startMobile({ ALLOW_SIGN_UP: 'true' })
  })
  afterEach(() => mobile.stop())

  it('goes on with each use, but not beyond a year', async () => {
    const token = await mobile.tokenOf()
    for (let days = 0; days < 360; days += 60) {
      expect((await mobile.get('/me', token)).status, `day ${days}`).to.equal(200)
      mobile.service.clock.advanceMs(60 * DAY_MS)
    }
    expect((await mobile.get('/me', token)).status).to.equal(200)
    mobile.service.clock.advanceMs(5 * DAY_MS - 1)
    expect((await mobile.get('/me', token)).status).to.equal(200)
    mobile.service.clock.advanceMs(1)
    expect(codeOf(await mobile.get('/me', token))).to.equal('401 invalid_token')
  })

  it('ends ninety days after its last use', async () => {
    const { clock } = mobile.service
    // A token is made by the clock of the thread that writes it.
    clock.set(new Date(Date.now() + DAY_MS).toISOString())
    const token = await mobile.tokenOf()
    await mobile.get('/me', token)
    clock.advanceMs(90 * DAY_MS)
    expect(codeOf(await mobile.get('/me', token))).to.equal('401 invalid_token')
  })
})

function refusal(error: string) {
  return { status: 400, body: JSON.stringify({ error }) }
}
