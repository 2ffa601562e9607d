// IdentityProvider on OpenID Connect. Goal: only what the provider has said, for us and lately, is
// believed, and every other answer becomes the failure that is promised. Method: a provider that
// forges one thing at a time.

import { expect } from 'chai'
import { ServiceError } from '../../src/domain/errors.ts'
import { OidcIdentityProvider } from '../../src/oidc/identity-provider.ts'
import type { OidcSettings } from '../../src/oidc/identity-provider.ts'
import { FakeClock } from '../support/clock.ts'
import { ForgingProvider } from '../support/forging-provider.ts'
import type { Forgery } from '../support/forging-provider.ts'
import { RecordingLog } from '../support/log.ts'
import { until } from '../support/until.ts'

const GRANT = { code: 'a-code', codeVerifier: 'v'.repeat(43), redirectUri: 'org.example:/cb' }
const SECONDS = Math.floor(Date.parse('2026-11-20T10:15:02.113Z') / 1000)
const DAY_SECONDS = 86_400
/** Long enough for a busy machine to answer. */
const TIMEOUT_MS = 10_000
/** Soon enough to wait for, where nobody answers. */
const SHORT_TIMEOUT_MS = 300

interface Row {
  readonly name: string
  readonly forgery: Forgery
  readonly code?: string
}

const REFUSED: readonly Row[] = [
  { name: 'another audience', forgery: { claims: { aud: 'other' } } },
  { name: 'several audiences and no azp', forgery: { claims: { aud: ['thermolog-app', 'x'] } } },
  { name: 'another authorized party', forgery: { claims: { azp: 'other' } } },
  { name: 'another issuer', forgery: { claims: { iss: 'https://id.example.org' } } },
  { name: 'an issuer without scheme', forgery: { claims: { iss: '127.0.0.1' } } },
  { name: 'a signature by another key', forgery: { isSignedByOther: true } },
  { name: 'no signature', forgery: { algorithm: 'none' } },
  { name: 'a shared secret', forgery: { algorithm: 'HS256' } },
  { name: 'a token that has run out', forgery: { claims: { exp: SECONDS - 61 } } },
  { name: 'a token that never runs out', forgery: { without: ['exp'] } },
  { name: 'a token of tomorrow', forgery: { claims: { iat: SECONDS + DAY_SECONDS } } },
  { name: 'a token of yesterday', forgery: { claims: { iat: SECONDS - DAY_SECONDS } } },
  { name: 'a token made at no time', forgery: { without: ['iat'] } },
  { name: 'a token not good yet', forgery: { claims: { nbf: SECONDS + 120 } } },
  { name: 'nobody', forgery: { without: ['sub'] } },
  { name: 'an empty subject', forgery: { claims: { sub: '' } } },
  { name: 'a missing ID token', forgery: { hasNoIdToken: true } },
  { name: 'an ID token that is none', forgery: { answer: answering({ id_token: 'garbage' }) } },
  { name: 'an ID token of another type', forgery: { answer: answering({ id_token: 7 }) } },
  { name: 'garbage', forgery: { answer: { status: 200, body: '\u0000<html>' } } },
  { name: 'no object', forgery: { answer: { status: 200, body: '[]' } } },
  { name: 'an error of its own', forgery: { broken: { '/token': 'fails' } } },
  { name: 'a redirect', forgery: { broken: { '/token': 'redirects' } } },
  { name: 'an answer without end', forgery: { broken: { '/token': 'floods' } } },
  { name: 'keys that are not there', forgery: { broken: { '/keys': 'fails' } } },
  { name: 'a wrong client', forgery: { answer: failing('invalid_client', 401) } },
  { name: 'userinfo of someone else', forgery: userinfo({ sub: 'ben' }) },
  { name: 'userinfo of nobody', forgery: userinfo({ sub: undefined }) },
  {
    name: 'userinfo that fails',
    forgery: { without: ['email'], broken: { '/userinfo': 'fails' } },
  },
  {
    name: 'a refused code',
    forgery: { answer: failing('invalid_grant', 400) },
    code: 'invalid_grant',
  },
  {
    name: 'a token endpoint that hangs',
    forgery: { broken: { '/token': 'hangs' } },
    code: 'provider_timeout',
  },
  {
    name: 'keys that hang',
    forgery: { broken: { '/keys': 'hangs' } },
    code: 'provider_timeout',
  },
]

const UNDISCOVERED: readonly Row[] = [
  { name: 'of another issuer', forgery: { discovery: { issuer: 'https://id.example.org' } } },
  { name: 'without https', forgery: { discovery: { token_endpoint: 'http://example.org/t' } } },
  { name: 'without a token endpoint', forgery: { discovery: { token_endpoint: undefined } } },
  { name: 'with another scheme', forgery: { discovery: { jwks_uri: 'file:///keys' } } },
  { name: 'that fails', forgery: { broken: { '/.well-known/openid-configuration': 'fails' } } },
  {
    name: 'that redirects',
    forgery: { broken: { '/.well-known/openid-configuration': 'redirects' } },
  },
  {
    name: 'that hangs',
    forgery: { broken: { '/.well-known/openid-configuration': 'hangs' } },
    code: 'provider_timeout',
  },
]

function answering(members: object) {
  return { status: 200, body: JSON.stringify(members) }
}

function failing(error: string, status: number) {
  return { status, body: JSON.stringify({ error, error_description: 'secret of the provider' }) }
}

function userinfo(members: Record<string, unknown>): Forgery {
  return { without: ['email', 'email_verified'], userinfo: { sub: 'ana', ...members } }
}

describe('OidcIdentityProvider', () => {
  const clock = new FakeClock()
  let forger: ForgingProvider
  let log: RecordingLog
  let provider: OidcIdentityProvider

  function create(change: Partial<OidcSettings> = {}): OidcIdentityProvider {
    const { issuer } = forger
    const settings = { id: 'forger', issuer, clientId: 'thermolog-app', clientSecret: undefined }
    return new OidcIdentityProvider(
      { clock, log },
      { ...settings, timeoutMs: TIMEOUT_MS, ...change },
    )
  }

  async function failureOf(exchange: Promise<unknown>): Promise<string> {
    try {
      await exchange
    } catch (error) {
      if (error instanceof ServiceError) return error.code
      throw error
    }
    return 'none'
  }

  beforeEach(async () => {
    forger = new ForgingProvider(() => clock.nowMs())
    await forger.start()
    log = new RecordingLog()
    provider = create()
  })

  afterEach(async () => {
    provider.stop()
    await forger.stop()
  })

  it('believes a token that is as it should be', async () => {
    expect(await provider.exchange(GRANT)).to.deep.equal({
      issuer: forger.issuer,
      subject: 'ana',
      email: 'ana@example.org',
      isEmailVerified: true,
      name: undefined,
    })
    expect(log.events).to.deep.equal([])
  })

  it('presents the code with its verifier, as a public client', async () => {
    await provider.exchange(GRANT)
    const [received] = forger.received
    expect(Object.fromEntries(received?.form ?? [])).to.deep.equal({
      grant_type: 'authorization_code',
      code: 'a-code',
      code_verifier: GRANT.codeVerifier,
      redirect_uri: 'org.example:/cb',
      client_id: 'thermolog-app',
    })
    expect(received?.authorization).to.equal(undefined)
  })

  it('names a confidential client in the way that the provider takes', async () => {
    const secret = { clientSecret: 'a:b c' }
    await create(secret).exchange(GRANT)
    const basic = Buffer.from('thermolog-app:a%3Ab+c').toString('base64')
    expect(forger.received[0]?.authorization).to.equal(`Basic ${basic}`)
    forger.forgery = {
      discovery: { token_endpoint_auth_methods_supported: ['client_secret_post'] },
    }
    await create(secret).exchange(GRANT)
    expect(forger.received[1]?.form.get('client_secret')).to.equal('a:b c')
  })

  for (const { name, forgery, code = 'provider_failed' } of REFUSED) {
    it(`answers ${code} to ${name}`, async () => {
      forger.forgery = forgery
      if (code === 'provider_timeout') provider = create({ timeoutMs: SHORT_TIMEOUT_MS })
      expect(await failureOf(provider.exchange(GRANT))).to.equal(code)
      expect(log.text).not.to.match(/a-code|vvvv|ana@|secret of/)
    })
  }

  for (const { name, forgery, code = 'provider_failed' } of UNDISCOVERED) {
    it(`answers ${code} after a discovery ${name}`, async () => {
      forger.forgery = forgery
      if (code === 'provider_timeout') provider = create({ timeoutMs: SHORT_TIMEOUT_MS })
      expect(await failureOf(provider.exchange(GRANT))).to.equal(code)
      expect(forger.received).to.deep.equal([])
      expect(provider.authorizationEndpoint()).to.equal(undefined)
    })
  }

  it('answers provider_failed while nobody is there', async () => {
    await forger.stop()
    expect(await failureOf(provider.exchange(GRANT))).to.equal('provider_failed')
  })

  it('says once in its log what is wrong, and when it is over', async () => {
    forger.forgery = { answer: failing('invalid_client', 401) }
    await failureOf(provider.exchange(GRANT))
    await failureOf(provider.exchange(GRANT))
    forger.forgery = {}
    await provider.exchange(GRANT)
    const said = log.events.map(({ level, fields }) => `${level} ${String(fields['reason'])}`)
    expect(said).to.deep.equal([
      'warn the token endpoint responded 401: invalid_client',
      'info undefined',
    ])
  })

  it('takes the clocks of others to be a minute off', async () => {
    forger.forgery = { claims: { iat: SECONDS + 50, nbf: SECONDS + 50, exp: SECONDS + 300 } }
    expect(await failureOf(provider.exchange(GRANT))).to.equal('none')
  })

  it('takes several audiences when the token was made for us', async () => {
    forger.forgery = { claims: { aud: ['thermolog-app', 'x'], azp: 'thermolog-app' } }
    expect(await failureOf(provider.exchange(GRANT))).to.equal('none')
  })

  for (const [said, isEmailVerified] of [
    [true, true],
    ['true', true],
    [false, false],
    ['false', false],
    [1, false],
    [undefined, false],
  ] as const) {
    it(`takes email_verified ${JSON.stringify(said)} for ${isEmailVerified}`, async () => {
      forger.forgery = { claims: { email_verified: said } }
      expect(await provider.exchange(GRANT)).to.include({ isEmailVerified })
    })
  }

  it('asks userinfo for the address that the ID token has not', async () => {
    forger.forgery = userinfo({ email: 'a@example.org', email_verified: 'true', name: 'Ana' })
    const said = { email: 'a@example.org', isEmailVerified: true, name: 'Ana' }
    expect(await provider.exchange(GRANT)).to.deep.include(said)
  })

  it('does without an address that nobody knows', async () => {
    forger.forgery = { without: ['email'], discovery: { userinfo_endpoint: undefined } }
    expect(await provider.exchange(GRANT)).to.deep.include({ subject: 'ana', email: undefined })
  })

  describe('when the provider changes its keys', () => {
    const keyRequests = () => forger.asked.filter((path) => path === '/keys').length

    it('follows at once, for all who sign in, with one request', async () => {
      await provider.exchange(GRANT)
      forger.forgery = { keyId: 'k2', publishedKeyId: 'k2' }
      const exchanges = Array.from({ length: 50 }, () => provider.exchange(GRANT))
      for (const exchange of exchanges) expect((await exchange).subject).to.equal('ana')
      expect(keyRequests()).to.equal(2)
      expect(log.events).to.deep.equal([])
    })

    it('waits for a key that is published after it was used', async () => {
      await provider.exchange(GRANT)
      forger.forgery = { keyId: 'k2' }
      const exchange = provider.exchange(GRANT)
      await until('the keys are asked for again', () => keyRequests() >= 3)
      forger.forgery = { keyId: 'k2', publishedKeyId: 'k2' }
      expect((await exchange).subject).to.equal('ana')
      expect(forger.received).to.have.lengthOf(2)
    })

    it('does not wait for ever, asks now and then, and presents the code only once', async () => {
      forger.forgery = { keyId: 'k2' }
      const progress = {}
      const exchanges = Array.from({ length: 10 }, () => failureOf(provider.exchange(GRANT)))
      expect(await failureOf(provider.exchange(GRANT, progress))).to.equal('provider_failed')
      for (const exchange of exchanges) expect(await exchange).to.equal('provider_failed')
      expect(keyRequests()).to.be.within(2, 6)
      const presented = forger.received.length
      forger.forgery = { keyId: 'k2', publishedKeyId: 'k2' }
      expect((await provider.exchange(GRANT, progress)).subject).to.equal('ana')
      expect(forger.received).to.have.lengthOf(presented)
    })
  })

  it('finds the provider in the background, as soon as it is there', async () => {
    forger.forgery = { broken: { '/.well-known/openid-configuration': 'fails' } }
    provider.start()
    await until('it says that it fails', () => log.events.length > 0)
    expect(provider.authorizationEndpoint()).to.equal(undefined)
    forger.forgery = {}
    await until('it is found', () => provider.authorizationEndpoint() !== undefined)
    expect(provider.authorizationEndpoint()).to.equal(`${forger.issuer}/auth`)
  })

  it('stops looking when it is told to', async () => {
    forger.forgery = { broken: { '/.well-known/openid-configuration': 'hangs' } }
    provider.start()
    provider.stop()
    expect(log.events).to.deep.equal([])
  })
})
