// Sessions. Goal: people see where they are signed in, and end what they no longer want, at once.

import { expect } from 'chai'
import { DAY_MS } from '../../../src/domain/time.ts'
import { EventReader } from '../../support/events.ts'
import { send } from '../../support/http.ts'
import { BASE, codeOf, GRANT, startMobile } from '../../support/mobile.ts'
import type { MobileTest } from '../../support/mobile.ts'

describe('sessions', () => {
  let mobile: MobileTest
  let signIns = 0

  beforeEach(async () => {
    mobile = await startMobile({ ALLOW_SIGN_UP: 'true' })
  })
  afterEach(() => mobile.stop())

  const signIn = async (headers: Record<string, string>): Promise<string> => {
    // With a body of bytes, Node sends the bytes of header values as they are.
    const grant = JSON.stringify({ ...GRANT, code: `session-${++signIns}` })
    return (await mobile.post(Buffer.from(grant), headers)).body.data.token
  }
  const list = async (token: string) => (await mobile.get('/sessions', token)).body.data
  const end = (id: number | string, token: string) =>
    send(mobile.service.url, { method: 'DELETE', path: `${BASE}/sessions/${id}`, token })

  it('are listed with the name of the app, newest first', async () => {
    const appName = Buffer.from(' Ana’s phone ').toString('latin1')
    const phone = await signIn({ 'x-app-name': appName, 'user-agent': 'Dart/3' })
    await signIn({ 'user-agent': `Firefox ${'x'.repeat(200)}` })
    const [browser, own] = await list(phone)
    expect(own).to.include({ name: 'Ana’s phone', current: true })
    expect(own.last_used_at).to.be.a('string')
    expect(browser).to.include({ current: false, last_used_at: null })
    expect(browser.name).to.match(/^Firefox x{120}$/)
  })

  it('end at once, with their streams, whoever of the user ends them', async () => {
    const [lost, kept] = [await signIn({}), await signIn({})]
    const stream = await EventReader.open(mobile.service.url, lost)
    const [, { id }] = await list(kept)
    expect((await end(id, kept)).status).to.equal(204)
    expect(codeOf(await mobile.get('/me', lost))).to.equal('401 invalid_token')
    expect(await stream.rest()).to.deep.equal([])
    expect(await list(kept)).to.have.lengthOf(1)
    expect(codeOf(await end(id, kept))).to.equal('404 not_found')
  })

  it('of another user, and daemon tokens, are unknown', async () => {
    const own = await signIn({})
    const claims = { sub: 'ben', email: 'ben@example.org' }
    const others = await mobile.tokenOf({ claims })
    const [{ id: othersId }] = await list(others)
    const daemon = await mobile.service.createTokenWithId('ana@example.org')
    for (const id of [othersId, daemon.id, 0, 'x', '1e3', 2 ** 53]) {
      expect(codeOf(await end(id, own)), String(id)).to.equal('404 not_found')
    }
    expect(await list(own)).to.have.lengthOf(1)
    expect((await mobile.get('/me', others)).status).to.equal(200)
  })

  it('that were idle too long are not listed', async () => {
    const { clock } = mobile.service
    // A token is made by the clock of the thread that writes it.
    clock.set(new Date().toISOString())
    await list(await signIn({}))
    const used = await signIn({})
    clock.advanceMs(45 * DAY_MS)
    expect(await list(used)).to.have.lengthOf(2)
    clock.advanceMs(46 * DAY_MS)
    expect(await list(used)).to.have.lengthOf(1)
  })
})
