// The whole way of a phone. Goal: an app that knows nothing but the address of the service signs
// its user in, shows the dashboard, draws a chart and signs out. Method: the service and a real
// OpenID Connect provider, a native client with PKCE and a custom scheme.

import { expect } from 'chai'
import { startWorker } from '../../src/threads/start-threads.ts'
import {
  authorize,
  CLIENT_SECRET,
  CONFIDENTIAL_CLIENT,
  PUBLIC_CLIENT,
  REDIRECT_URI,
  startOpenIdProvider,
} from '../support/openid-provider.ts'
import type { Grant, OpenIdProvider, SignInProvider } from '../support/openid-provider.ts'
import { send } from '../support/http.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

const BASE = '/api/mobile/v1'

describe('signing in with a phone', () => {
  let idp: OpenIdProvider
  let service: TestService

  before(async () => {
    idp = await startOpenIdProvider()
    idp.people.set('ana', { email: 'ana@example.org', email_verified: true, name: 'Ana' })
    service = await startService(
      {
        IDP_HOME_ISSUER: idp.issuer,
        IDP_HOME_CLIENT_ID: PUBLIC_CLIENT,
        IDP_HOME_LABEL: 'Home',
        IDP_OFFICE_ISSUER: idp.issuer,
        IDP_OFFICE_CLIENT_ID: CONFIDENTIAL_CLIENT,
        IDP_OFFICE_CLIENT_SECRET: CLIENT_SECRET,
        MOBILE_REDIRECT_URIS: REDIRECT_URI,
        ALLOW_SIGN_UP: 'example.org',
      },
      startWorker,
    )
    await until('both providers are found', async () => {
      return (await bootstrapped()).every(({ authorization_endpoint: at }) => at !== null)
    })
  })

  after(async () => {
    await service.stop()
    await idp.stop()
  })

  async function bootstrapped(): Promise<(SignInProvider & { id: string })[]> {
    return (await send(service.url, { path: `${BASE}/bootstrap` })).body.data.sign_in_providers
  }

  async function grantFrom(id: string): Promise<Grant> {
    // The provider lives in the present.
    service.clock.set(new Date().toISOString())
    const provider = (await bootstrapped()).find((one) => one.id === id)
    if (provider === undefined) throw new Error(`no provider ${id}`)
    return authorize(provider, 'ana')
  }

  const exchange = (id: string, body: Grant) =>
    send(service.url, { method: 'POST', path: `${BASE}/auth/${id}`, body })

  it('goes from the bootstrap to the chart, and out', async () => {
    const grant = await grantFrom('home')
    const { status, body, headers } = await exchange('home', grant)
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(headers['cache-control']).to.equal('no-store')
    const { token, user } = body.data
    expect(user).to.deep.include({ email: 'ana@example.org', name: 'Ana' })

    const daemon = await service.createToken('ana@example.org')
    const measurement = { sn: 'A1', temp: 21.5 }
    const submitted = { method: 'POST', path: '/api/v1/measurements', token: daemon }
    expect((await send(service.url, { ...submitted, body: measurement })).status).to.equal(201)

    const get = (path: string) => send(service.url, { path: BASE + path, token })
    expect((await get('/me')).body.data).to.deep.equal(user)
    const { data: dashboard } = (await get('/dashboard')).body
    expect(dashboard).to.deep.include({ user, sensors_total: 1, sensors_online: 1 })
    expect((await get('/sensors')).body.data).to.deep.equal(dashboard.sensors)
    const { data: history } = (await get(`/sensors/${dashboard.sensors[0].id}/measurements`)).body
    expect(history.points).to.have.lengthOf(1)

    const logout = { method: 'POST', path: `${BASE}/logout`, token }
    expect((await send(service.url, logout)).status).to.equal(204)
    expect((await get('/me')).body.code).to.equal('invalid_token')
    expect((await exchange('home', grant)).body.code).to.equal('invalid_grant')
  })

  it('repeats a lost answer, though the provider takes a code once', async () => {
    const grant = await grantFrom('home')
    const [first, second] = await Promise.all([exchange('home', grant), exchange('home', grant)])
    const third = await exchange('home', grant)
    expect(first.status, first.text).to.equal(200)
    expect(second.text).to.equal(first.text)
    expect(third.text).to.equal(first.text)
  })

  it('works for a confidential client, and knows the person from the public one', async () => {
    const { status, body, text } = await exchange('office', await grantFrom('office'))
    expect(status, text).to.equal(200)
    expect(body.data.user.email).to.equal('ana@example.org')
    const [listed] = await service.operations.run('user list', {})
    expect(listed?.identities).to.have.lengthOf(1)
    expect(listed?.identities[0]).to.include({ issuer: idp.issuer, subject: 'ana' })
  })

  it('tells of a code with another verifier that the provider refuses it', async () => {
    const grant = { ...(await grantFrom('home')), code_verifier: 'x'.repeat(43) }
    const { status, body } = await exchange('home', grant)
    expect([status, body.code]).to.deep.equal([400, 'invalid_grant'])
  })

  it('asks the userinfo endpoint where ID tokens have no address', async () => {
    const strict = await startOpenIdProvider({ conformIdTokenClaims: true })
    strict.people.set('ben', { email: 'ben@example.org', email_verified: true })
    const other = await startService(
      {
        IDP_STRICT_ISSUER: strict.issuer,
        IDP_STRICT_CLIENT_ID: PUBLIC_CLIENT,
        MOBILE_REDIRECT_URIS: REDIRECT_URI,
        ALLOW_SIGN_UP: 'true',
      },
      startWorker,
    )
    other.clock.set(new Date().toISOString())
    const provider = {
      client_id: PUBLIC_CLIENT,
      authorization_endpoint: `${strict.issuer}/auth`,
      redirect_uri: REDIRECT_URI,
      scopes: ['openid', 'email'],
    }
    const body = await authorize(provider, 'ben')
    const answer = await send(other.url, { method: 'POST', path: `${BASE}/auth/strict`, body })
    expect(answer.body.data?.user.email, answer.text).to.equal('ben@example.org')
    await other.stop()
    await strict.stop()
  })

  it('leaves nothing in the log that could be used', () => {
    expect(service.log.text).not.to.match(/thm_live|ana@example|code=|verifier/)
  })
})
