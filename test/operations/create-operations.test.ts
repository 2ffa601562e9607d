// Goal: operators are told of tokens what requests with them are told. Method: the whole service,
// with a clock that is set.

import { expect } from 'chai'
import { DAY_MS } from '../../src/domain/time.ts'
import { startMobile } from '../support/mobile.ts'
import type { MobileTest } from '../support/mobile.ts'

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
      const [listed] = await service.operations.listTokens({ user: USER })
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
    await service.createToken(USER, { lifetimeMs: DAY_MS })
    service.clock.advanceMs(365 * DAY_MS)
    const listed = await service.operations.listTokens({ user: USER })
    expect(listed.map(({ kind, state }) => [kind, state])).to.deep.equal([
      ['mobile', 'expired'],
      ['daemon', 'expired'],
    ])
  })
})
