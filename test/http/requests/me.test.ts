import { expect } from 'chai'
import { send } from '../../support/http.ts'
import { startService } from '../../support/service.ts'
import type { TestService } from '../../support/service.ts'

describe('who the caller is', () => {
  let service: TestService

  before(async () => {
    service = await startService()
  })

  after(() => service.stop())

  it('is told to the holder of a daemon token, scopes or not', async () => {
    const token = await service.createToken('a@example.org', { scope: ['sensors:read'] })
    const { status, body } = await send(service.url, { path: '/api/v1/me', token })
    expect(status).to.equal(200)
    expect(body.data.token).to.deep.include({ kind: 'daemon', scopes: ['sensors:read'] })
    expect(body.data.token.last_used_at).to.equal('2026-11-20T10:15:02.113Z')
    expect(body.data.user).to.deep.include({ email: 'a@example.org', name: 'a@example.org' })
  })

  it('learns which data the service has, in every answer', async () => {
    const token = await service.createToken('a@example.org', { scope: ['sensors:read'] })
    const { body, headers } = await send(service.url, { path: '/api/v1/me', token })
    const { id } = body.data.store
    expect(body.data.store).to.deep.equal({ id, restored_to: null })
    expect(id).to.match(/^[0-9a-f]{32}$/)
    expect(headers['thermolog-store']).to.equal(id)
    const refused = await send(service.url, { path: '/api/v1/sensors/7/measurements', token })
    expect([refused.status, refused.headers['thermolog-store']]).to.deep.equal([404, id])
    const unknown = await send(service.url, { path: '/api/v1/me', token: 'thd_live_x' })
    expect(unknown.headers).not.to.have.property('thermolog-store')
  })

  it('is told no more once the token is revoked', async () => {
    const { id, token } = await service.createTokenWithId('a@example.org')
    expect((await send(service.url, { path: '/api/v1/me', token })).status).to.equal(200)
    await service.operations.run('token revoke', { id: String(id) })
    const { status, body, headers } = await send(service.url, { path: '/api/v1/me', token })
    expect([status, body.code]).to.deep.equal([401, 'invalid_token'])
    expect(headers['www-authenticate']).to.include('error="invalid_token"')
  })

  it('is told no more once the token has run out', async () => {
    const token = await service.createToken('a@example.org', { expires: '1m' })
    service.clock.advanceMs(59_999)
    expect((await send(service.url, { path: '/api/v1/me', token })).status).to.equal(200)
    service.clock.advanceMs(1)
    expect((await send(service.url, { path: '/api/v1/me', token })).status).to.equal(401)
  })
})
