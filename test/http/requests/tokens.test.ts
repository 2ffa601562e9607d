// Daemon tokens that people make for themselves. Goal: nobody needs a shell on the server for one,
// and nobody gets or changes what is not theirs.

import { expect } from 'chai'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../../src/domain/time.ts'
import { send } from '../../support/http.ts'
import { BASE, codeOf, startMobile } from '../../support/mobile.ts'
import type { MobileTest } from '../../support/mobile.ts'

const SETTINGS = { ALLOW_SIGN_UP: 'true', MOBILE_TOKENS: 'true' }
const ALL = ['measurements:write', 'sensors:read', 'sensors:write']

describe('tokens of one’s own', () => {
  let shared: MobileTest
  let mobile: MobileTest
  let phone: string
  let email: string
  let people = 0

  before(async () => {
    shared = await startMobile(SETTINGS)
  })
  afterEach(async () => {
    if (mobile !== shared) await mobile.stop()
  })
  after(() => shared.stop())

  /** A new person; with other settings at a service of their own. */
  const start = async (settings?: Record<string, string>) => {
    mobile = settings === undefined ? shared : await startMobile({ ...SETTINGS, ...settings })
    email = `ana${++people}@example.org`
    phone = await mobile.tokenOf({ claims: { sub: email, email } })
    setClock(0)
  }
  const post = (path: string, body?: unknown, token = phone) =>
    send(mobile.service.url, {
      method: 'POST',
      path: BASE + path,
      token,
      ...(body !== undefined && { body }),
    })
  const make = (body: unknown = { name: 'shed' }, token = phone) => post('/tokens', body, token)
  const rotate = (id: number, body: unknown = {}, token = phone) =>
    post(`/tokens/${id}/rotation`, body, token)
  const end = (id: number | string, token = phone) =>
    send(mobile.service.url, { method: 'DELETE', path: `${BASE}/tokens/${id}`, token })
  const list = async (token = phone) => (await mobile.get('/tokens', token)).body.data
  const daemonMe = (token: string) => send(mobile.service.url, { path: '/api/v1/me', token })
  const submit = (token: string, sn = 'A1') =>
    send(mobile.service.url, {
      method: 'POST',
      path: '/api/v1/measurements',
      token,
      body: { event_id: sn, sn, temp: 20 },
    })
  /** Of the service; tokens are issued by the clock of the machine. */
  const setClock = (aheadMs: number) =>
    mobile.service.clock.set(new Date(Date.now() + aheadMs).toISOString())

  it('are made for devices, and shown once', async () => {
    await start()
    const { status, headers, body } = await make({ name: '  shed ' })
    const { token, ...made } = body.data
    expect([status, headers['cache-control']]).to.deep.equal([201, 'no-store'])
    const session = (await mobile.get('/sessions', phone)).body.data[0]
    expect(made).to.deep.include({ name: 'shed', scopes: ALL, sn_prefix: '', expires_at: null })
    expect(made).to.deep.include({ made_by: 'owner', session_id: session.id })
    expect((await submit(token)).status).to.equal(201)
    const [listed] = await list()
    expect({ ...listed, last_used_at: null }).to.deep.equal(made)
    expect(listed.last_used_at).to.be.a('string')
    expect((await mobile.get('/dashboard', phone)).body.data.sensors_total).to.equal(1)
  })

  it('may do what was asked for, as long as was asked for', async () => {
    await start()
    const order = { name: 'x', scopes: ['sensors:read'], sn_prefix: 'cabin-', expires_in_days: 2 }
    const { data } = (await make(order)).body
    expect(data).to.deep.include({ scopes: ['sensors:read'], sn_prefix: 'cabin-' })
    expect(Date.parse(data.expires_at)).to.equal(Date.parse(data.created_at) + 2 * DAY_MS)
    expect(codeOf(await submit(data.token))).to.equal('403 insufficient_scope')
    setClock(2 * DAY_MS + SECOND_MS)
    expect(codeOf(await daemonMe(data.token))).to.equal('401 invalid_token')
    expect(await list()).to.deep.equal([])
  })

  it('want a complete order', async () => {
    await start()
    const faults: readonly (readonly [unknown, string])[] = [
      [{}, '/name required'],
      [{ name: ' ' }, '/name pattern'],
      [{ name: 'x'.repeat(129) }, '/name maxLength'],
      [{ name: 'x', scopes: [] }, '/scopes minItems'],
      [{ name: 'x', scopes: ['admin'] }, '/scopes/0 enum'],
      [{ name: 'x', sn_prefix: 'a b' }, '/sn_prefix pattern'],
      [{ name: 'x', expires_in_days: 0 }, '/expires_in_days minimum'],
      [{ name: 'x', expires_in_days: 1.5 }, '/expires_in_days type'],
      [{ name: 'x', user: 'eve' }, '/user additionalProperties'],
      ['[]', ' type'],
    ]
    for (const [order, fault] of faults) {
      const { status, body } = await make(order)
      const [first] = body.errors
      expect([status, `${first.pointer} ${first.code}`], fault).to.deep.equal([422, fault])
    }
    const { id } = (await make()).body.data
    expect((await rotate(id, { overlap_days: -1 })).status).to.equal(422)
    expect(await list()).to.have.lengthOf(1)
  })

  it('are replaced by ones like them, and work on for a week unless told otherwise', async () => {
    await start()
    const order = { name: 'x', scopes: ['measurements:write'], sn_prefix: 'a', expires_in_days: 90 }
    const old = (await make(order)).body.data
    const made = (await rotate(old.id)).body.data
    expect(made).to.deep.include({ name: 'x', scopes: order.scopes, sn_prefix: 'a' })
    const [kept] = await list()
    expect(Date.parse(kept.expires_at)).to.equal(Date.parse(made.created_at) + 7 * DAY_MS)
    for (const { token } of [old, made]) expect((await submit(token)).status).to.be.below(300)
    expect((await post(`/tokens/${made.id}/rotation`)).status).to.equal(201)
    expect((await rotate(made.id, { overlap_days: 0 })).status).to.equal(201)
    expect(codeOf(await submit(made.token))).to.equal('401 invalid_token')
  })

  it('end at once, and only once', async () => {
    await start()
    const { id, token } = (await make()).body.data
    expect((await end(`${id}?x=1`)).status).to.equal(422)
    const answers = await Promise.all([end(id), end(id)])
    expect(answers.map(({ status }) => status)).to.have.members([204, 404])
    expect(codeOf(await daemonMe(token))).to.equal('401 invalid_token')
    expect(codeOf(await end(id))).to.equal('404 not_found')
    expect(codeOf(await rotate(id))).to.equal('404 not_found')
  })

  it('outlive the session that made them', async () => {
    await start()
    const { token } = (await make()).body.data
    await post('/logout')
    expect((await daemonMe(token)).status).to.equal(200)
  })

  it('of others are unknown, and what is not a daemon token is none', async () => {
    await start()
    const ben = await mobile.tokenOf({ claims: { sub: 'ben', email: 'ben@example.org' } })
    const { id, token } = (await make({ name: 'ben' }, ben)).body.data
    const [{ id: session }] = (await mobile.get('/sessions', phone)).body.data
    for (const other of [id, session, 0, 'x', '1e1', 2 ** 53]) {
      expect(codeOf(await end(`${other}?x=1`)), String(other)).to.equal('404 not_found')
      expect(codeOf(await rotate(other as number)), String(other)).to.equal('404 not_found')
    }
    expect(await list()).to.deep.equal([])
    expect((await daemonMe(token)).status).to.equal(200)
    expect(codeOf(await make({ name: 'x' }, token))).to.equal('403 wrong_token_kind')
  })

  it('of an operator are listed and left alone', async () => {
    await start()
    const { id, token } = await mobile.service.createTokenWithId(email)
    expect((await list())[0]).to.deep.include({ id, made_by: 'operator', session_id: null })
    expect(codeOf(await end(id))).to.equal('403 insufficient_scope')
    expect(codeOf(await rotate(id))).to.equal('403 insufficient_scope')
    expect((await daemonMe(token)).status).to.equal(200)
  })

  it('are made in a session of today; any session ends them', async () => {
    await start()
    const { id } = (await make()).body.data
    // Either is a day away: of the two clocks, nobody knows which was wrong.
    for (const aheadMs of [-DAY_MS - MINUTE_MS, DAY_MS + MINUTE_MS]) {
      setClock(aheadMs)
      expect(codeOf(await make({}))).to.equal('403 sign_in_again')
      expect(codeOf(await rotate(id))).to.equal('403 sign_in_again')
    }
    expect(await list()).to.have.lengthOf(1)
    expect((await end(id)).status).to.equal(204)
  })

  it('are a hundred at most', async () => {
    await start()
    const made = await Promise.all(Array.from({ length: 104 }, () => make()))
    const refused = made.filter(({ status }) => status !== 201)
    expect(refused.map(({ body }) => body.errors[0].code)).to.deep.equal(
      Array(4).fill('too_many_tokens'),
    )
    expect(await list()).to.have.lengthOf(100)
    await mobile.service.createToken(email)
    expect(await list()).to.have.lengthOf(101)
  })

  it('share the allowances of one', async () => {
    await start({ RATE_LIMIT_MEASUREMENTS: '4', RATE_LIMIT_REQUESTS: '9' })
    const tokens = [(await make()).body.data.token, (await make()).body.data.token]
    const remaining = async (token: string, sn: string) =>
      String((await submit(token, sn)).headers['ratelimit']).replaceAll(/;t=\d+/g, '')
    expect(await remaining(tokens[0], 'A1')).to.equal(
      '"requests";r=8, "measurements";r=3, "live";r=1',
    )
    expect(await remaining(tokens[1], 'A2')).to.equal(
      '"requests";r=7, "measurements";r=2, "live";r=1',
    )
    const operators = await mobile.service.createToken(email)
    expect(await remaining(operators, 'A3')).to.include('"measurements";r=3')
  })

  it('have no right that their owner lacks', async () => {
    await start({ MOBILE_EDITS: 'false' })
    const { data } = (await make()).body
    expect(data.scopes).to.deep.equal(['measurements:write', 'sensors:read'])
    const order = { name: 'x', scopes: ['sensors:write'] }
    expect(codeOf(await make(order))).to.equal('403 insufficient_scope')
    expect(await list()).to.have.lengthOf(1)
  })

  it('are for the operator to make where people sign up, unless the setting says so', async () => {
    await start({ MOBILE_TOKENS: '' })
    const bootstrap = await send(mobile.service.url, { path: `${BASE}/bootstrap` })
    expect(bootstrap.body.data.daemon_tokens).to.equal(false)
    const { id } = await mobile.service.createTokenWithId(email)
    expect(await list()).to.have.lengthOf(1)
    for (const answer of [await make({}), await rotate(id), await end(id), await end(0)]) {
      expect(codeOf(answer)).to.equal('403 insufficient_scope')
    }
  })

  it('are offered where nobody signs up', async () => {
    mobile = await startMobile()
    const bootstrap = await send(mobile.service.url, { path: `${BASE}/bootstrap` })
    expect(bootstrap.body.data.daemon_tokens).to.equal(true)
  })
})
