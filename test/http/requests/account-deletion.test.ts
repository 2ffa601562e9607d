// Deleting one's own account. Goal: everything of that person goes, at once, and only when it is
// certainly they who want it.

import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import { expect } from 'chai'
import { MINUTE_MS } from '../../../src/domain/time.ts'
import { EventReader } from '../../support/events.ts'
import { send } from '../../support/http.ts'
import { BASE, codeOf, startMobile } from '../../support/mobile.ts'
import type { MobileTest } from '../../support/mobile.ts'

const ANA = 'ana@example.org'
const ALLOWED = { ALLOW_SIGN_UP: 'true', ALLOW_ACCOUNT_DELETION: 'true' }

/** Sends the head of a request, until its token is checked. @returns sends its body */
async function underWay(url: string, token: string, body: string) {
  const headers = {
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    Expect: '100-continue',
  }
  const sending = request(url, { method: 'POST', headers })
  sending.flushHeaders()
  await once(sending, 'continue')
  return async (): Promise<{ status: number | undefined; code: string }> => {
    sending.end(body)
    const [answer] = (await once(sending, 'response')) as [IncomingMessage]
    return { ...((await json(answer)) as { code: string }), status: answer.statusCode }
  }
}

describe('deleting one’s account', () => {
  let mobile: MobileTest

  afterEach(() => mobile.stop())

  const start = async (settings: Record<string, string> = ALLOWED) => {
    mobile = await startMobile(settings)
    setClock(0)
  }
  const remove = (token: string, body: unknown = { email: ANA }) =>
    send(mobile.service.url, { method: 'POST', path: `${BASE}/me/deletion`, token, body })
  /** Of the service; tokens are issued by the clock of the machine. */
  const setClock = (aheadMs: number) =>
    mobile.service.clock.set(new Date(Date.now() + aheadMs).toISOString())
  const isOffered = async () =>
    (await send(mobile.service.url, { path: `${BASE}/bootstrap` })).body.data.account_deletion

  it('ends every session and stream, and leaves nothing to a new account', async () => {
    await start()
    expect(await isOffered()).to.equal(true)
    const [token, other] = [await mobile.tokenOf(), await mobile.tokenOf()]
    const { id } = (await mobile.get('/me', token)).body.data
    await mobile.service.operations.run('sensor create', { user: ANA, sn: 'A1' })
    const stream = await EventReader.open(mobile.service.url, other)
    const { status, text } = await remove(token, { email: 'Ana@EXAMPLE.org' })
    expect([status, text]).to.deep.equal([204, ''])
    expect(await stream.rest()).to.deep.equal([])
    expect(codeOf(await remove(token))).to.equal('401 invalid_token')
    expect(codeOf(await mobile.get('/me', other))).to.equal('401 invalid_token')
    const anew = await mobile.tokenOf()
    expect((await mobile.get('/me', anew)).body.data.id).to.be.greaterThan(id)
    expect((await mobile.get('/sensors', anew)).body.data).to.deep.equal([])
  })

  it('is one deletion where two ask at once: the other has no token any more', async () => {
    await start()
    const tokens = [await mobile.tokenOf(), await mobile.tokenOf()]
    const answers = await Promise.all(tokens.map((token) => remove(token)))
    expect(answers.map(({ status }) => status)).to.have.members([204, 401])
  })

  it('leaves no valid token to what daemons are sending meanwhile', async () => {
    await start()
    const { url, createToken, operations } = mobile.service
    const token = await createToken(ANA)
    const batch = JSON.stringify({ measurements: [{ sn: 'A1', temp: 20 }] })
    const sending = await Promise.all(
      [
        ['/api/v2/write?bucket=b', 'room temp=20'],
        ['/api/v1/measurements/batch', batch],
        ['/api/v1/measurements/batch?on_invalid=skip', batch],
      ].map(([path = '', body = '']) => underWay(url + path, token, body)),
    )
    await operations.run('user delete', { user: ANA })
    const [lines, ...batches] = await Promise.all(sending.map((finish) => finish()))
    expect(lines).to.include({ status: 401, code: 'unauthorized' })
    for (const answer of batches) expect(answer).to.include({ status: 401, code: 'invalid_token' })
  })

  it('wants a fresh sign-in and the person’s own address', async () => {
    await start()
    const token = await mobile.tokenOf()
    for (const body of [{}, { email: 1 }, { email: 'eve@example.org' }, { email: ANA, x: 1 }]) {
      expect(codeOf(await remove(token, body))).to.equal('422 validation_failed')
    }
    setClock(10 * MINUTE_MS + 1)
    expect(codeOf(await remove(token, {}))).to.equal('403 sign_in_again')
    expect((await mobile.get('/me', token)).status).to.equal(200)
    setClock(0)
    expect((await remove(await mobile.tokenOf())).status).to.equal(204)
  })

  it('is for the operator where daemons send to the account, or an operator made it', async () => {
    await start()
    const token = await mobile.tokenOf()
    await mobile.submit(ANA, { sn: 'A1', temp: 20 })
    expect(codeOf(await remove(token))).to.equal('403 insufficient_scope')
    expect((await mobile.get('/sensors', token)).body.data).to.have.lengthOf(1)
    const email = 'ben@example.org'
    await mobile.service.operations.run('user create', { email })
    const ben = await mobile.tokenOf({ claims: { sub: 'ben', email } })
    expect(codeOf(await remove(ben, { email }))).to.equal('403 insufficient_scope')
  })

  for (const [name, settings] of Object.entries({
    'by default': { ALLOW_SIGN_UP: 'true' },
    'where phones change nothing': { ...ALLOWED, MOBILE_EDITS: 'false' },
  })) {
    it(`is for the operator ${name}`, async () => {
      await start(settings)
      expect(await isOffered()).to.equal(false)
      const token = await mobile.tokenOf()
      expect(codeOf(await remove(token, {}))).to.equal('403 insufficient_scope')
      expect((await mobile.get('/me', token)).status).to.equal(200)
    })
  }
})
