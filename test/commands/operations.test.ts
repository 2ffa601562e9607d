// Goal: operators are told of tokens what requests with them are told, and an order that no command
// line sends changes nothing. Method: the whole service, with a clock that is set.

import { expect } from 'chai'
import type { CommandPath } from '../../src/commands/operations.ts'
import { DAY_MS } from '../../src/domain/time.ts'
import { startMobile } from '../support/mobile.ts'
import type { MobileTest } from '../support/mobile.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const USER = 'ana@example.org'

describe('listing tokens', () => {
  let mobile: MobileTest
  beforeEach(async () => {
    mobile = await startMobile({ ALLOW_SIGN_UP: 'true' })
  })
  afterEach(() => mobile.stop())

  it('says that a mobile token has run out as long as it was not used', async () => {
    const { service } = mobile
    const token = await mobile.tokenOf({ claims: { email: USER } })
    const state = async () => {
      const [listed] = await service.operations.run('token list', { user: USER })
      return listed?.state
    }
    const status = async () => (await mobile.get('/me', token)).status
    expect(await state()).to.equal('live')
    service.clock.advanceMs(90 * DAY_MS - 1)
    expect(await state()).to.equal('live')
    expect(await status()).to.equal(200)
    // The use is not on disk yet.
    service.clock.advanceMs(DAY_MS)
    expect([await state(), await status()]).to.deep.equal(['live', 200])
    service.clock.advanceMs(90 * DAY_MS)
    expect([await state(), await status()]).to.deep.equal(['idle', 401])
  })

  it('says that a token has expired before it says that it is idle', async () => {
    const { service } = mobile
    await mobile.tokenOf({ claims: { email: USER } })
    await service.createToken(USER, { expires: '1d' })
    service.clock.advanceMs(365 * DAY_MS)
    const listed = await service.operations.run('token list', { user: USER })
    expect(listed.map(({ kind, state }) => [kind, state])).to.deep.equal([
      ['mobile', 'expired'],
      ['daemon', 'expired'],
    ])
  })
})

describe('renaming a user', () => {
  it('is seen with every token at once', async () => {
    const mobile = await startMobile({ ALLOW_SIGN_UP: 'true' })
    try {
      const token = await mobile.tokenOf({ claims: { email: USER } })
      const me = async () => (await mobile.get('/me', token)).body.data
      expect(await me()).to.include({ email: USER })
      const anna = { email: 'anna@example.org', name: 'Anna' }
      await mobile.service.operations.run('user rename', { user: USER, ...anna })
      expect(await me()).to.include(anna)
    } finally {
      await mobile.stop()
    }
  })
})

describe('rotating a token', () => {
  let mobile: MobileTest
  beforeEach(async () => {
    mobile = await startMobile({ ALLOW_SIGN_UP: 'true' })
  })
  afterEach(() => mobile.stop())

  const statusOf = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` }
    return (await fetch(`${mobile.service.url}/api/v1/me`, { headers })).status
  }
  const refusalOf = (id: number, overlap = '1d') =>
    mobile.service.operations.run('token rotate', { id: String(id), overlap }).then(
      () => 'rotated',
      (error: Error) => error.message,
    )

  it('leaves the old one working until the overlap ends', async () => {
    const { operations, clock } = mobile.service
    await operations.run('user create', { email: USER })
    const scopes = ['measurements:write', 'sensors:read']
    const old = await operations.run('token create', {
      user: USER,
      name: 'gateway-1',
      scope: scopes,
    })
    expect(await statusOf(old.token)).to.equal(200)
    const rotated = await operations.run('token rotate', { id: String(old.id), overlap: '7d' })
    expect(rotated.oldExpiresAtMs).to.equal(clock.nowMs() + 7 * DAY_MS)
    clock.advanceMs(7 * DAY_MS - 1)
    expect(await Promise.all([old, rotated].map(({ token }) => statusOf(token)))).to.deep.equal([
      200, 200,
    ])
    clock.advanceMs(1)
    expect(await Promise.all([old, rotated].map(({ token }) => statusOf(token)))).to.deep.equal([
      401, 200,
    ])
    const listed = await operations.run('token list', { user: USER })
    expect(
      listed.map(({ id, name, rights, state }) => ({ id, name, rights, state })),
    ).to.deep.equal([
      { id: old.id, name: 'gateway-1', rights: scopes, state: 'expired' },
      { id: rotated.id, name: 'gateway-1', rights: scopes, state: 'live' },
    ])
  })

  it('gives the new one the lifetime of the old one, and the old one no more', async () => {
    const { operations, clock } = mobile.service
    await operations.run('user create', { email: USER })
    const order = { user: USER, name: 'x', expires: '30d' }
    const { id } = await operations.run('token create', order)
    clock.advanceMs(29 * DAY_MS)
    const [old] = await operations.run('token list', { user: USER })
    const { oldExpiresAtMs } = await operations.run('token rotate', { id: String(id) })
    expect(oldExpiresAtMs).to.equal(old?.expiresAtMs)
    const [, rotated] = await operations.run('token list', { user: USER })
    const lifetimeMs = (old?.expiresAtMs ?? 0) - (old?.createdAtMs ?? 0)
    expect(rotated?.expiresAtMs).to.equal(clock.nowMs() + lifetimeMs)
  })

  it('is refused for tokens that are none of a daemon, or no good', async () => {
    const { operations, clock } = mobile.service
    await mobile.tokenOf({ claims: { email: USER } })
    const [phone] = await operations.run('token list', { user: USER })
    expect(await refusalOf(phone?.id ?? 0)).to.match(/^no live daemon token has the id/)
    const order = { user: USER, name: 'x', expires: '1d' }
    const expired = await operations.run('token create', order)
    clock.advanceMs(DAY_MS)
    expect(await refusalOf(expired.id)).to.match(/^no live daemon token/)
    const revoked = await operations.run('token create', order)
    await operations.run('token revoke', { id: String(revoked.id) })
    expect(await refusalOf(revoked.id)).to.match(/^no live daemon token/)
    expect(await refusalOf(99)).to.match(/^no live daemon token/)
    expect(await refusalOf(revoked.id, '0d')).to.match(/^--overlap must be a duration/)
  })
})

describe('a command that comes over the socket', () => {
  let service: TestService
  before(async () => {
    service = await startService()
    await service.operations.run('user create', { email: USER })
  })
  after(() => service.stop())

  const token = { user: USER, name: 'gateway' }
  /** No command line sends these: it checks them first. */
  const refused: Readonly<Record<string, readonly [CommandPath, unknown, RegExp]>> = {
    'no scope at all': ['token create', { ...token, scope: [] }, /^--scope <scope> is missing/],
    'a scope that is a number': ['token create', { ...token, scope: [1] }, /is a text/],
    'an argument of a newer version': ['token create', { ...token, expire: '1h' }, /"expire"/],
    'an argument that is missing': ['user create', {}, /^--email <address> is missing/],
    'an argument that is an object': ['user create', { email: {} }, /^--email <address> is a text/],
    'no arguments': ['user create', null, /^--email <address> is missing/],
    'ids of no choice': ['refused drop', { ids: [] }, /is missing/],
    'all and some ids': ['refused drop', { ids: ['1'], all: true }, /exclude each other/],
    'nothing to change': ['user rename', { user: USER }, /^nothing to change/],
    'a command that there is not': ['user make' as CommandPath, {}, /^no command "user make"/],
    'a name that objects have': ['constructor' as CommandPath, {}, /^no command/],
  }
  for (const [what, [path, given, says]] of Object.entries(refused)) {
    it(`changes nothing with ${what}`, async () => {
      const message = await service.operations.run(path, given as object).then(
        () => 'it was carried out',
        (error: Error) => error.message,
      )
      expect(message).to.match(says)
      expect(await service.operations.run('token list', { user: USER })).to.deep.equal([])
      expect(await service.operations.run('user list', {})).to.have.lengthOf(1)
    })
  }

  it('has no preview where it deletes nothing', async () => {
    const preview = service.operations.preview('user list', {})
    const message = await preview.catch((error: Error) => error.message)
    expect(message).to.equal('user list deletes nothing')
    expect(await service.operations.preview('user delete', { user: USER })).to.equal(
      `user 1 (${USER}) with 0 sensors and 0 measurements`,
    )
  })
})
