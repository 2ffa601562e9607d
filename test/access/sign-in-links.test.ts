// Sign-in links. Goal: whoever has a link signs in with it, once, and nobody else ever does.
// Method: the service without an identity provider, its operator, and clients that are too late.

import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import type { GivenOf } from '../../src/commands/operations.ts'
import { MINUTE_MS } from '../../src/domain/time.ts'
import { send } from '../support/http.ts'
import { BASE, codeOf } from '../support/mobile.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const ANA = 'ana@example.org'

describe('a sign-in link', () => {
  let service: TestService
  beforeEach(async () => {
    service = await startService({ PUBLIC_URL: 'https://cellar.example.org/' })
    await service.operations.run('user create', { email: ANA, name: 'Ana' })
  })
  afterEach(() => service.stop())

  const newVerifier = () => randomBytes(32).toString('base64url')
  const newCode = async (expires?: string) => {
    const order = { user: ANA, ...(expires !== undefined && { expires }) }
    const { url } = await service.operations.run('user link', order)
    return url.slice(url.lastIndexOf('/') + 1)
  }
  const redeem = (body: object) =>
    send(service.url, { method: 'POST', path: `${BASE}/auth/link`, body })

  it('is an address of the page, with 256 random bits', async () => {
    const { url, expiresAtMs } = await service.operations.run('user link', { user: ANA })
    expect(url).to.match(/^https:\/\/cellar\.example\.org\/#\/link\/[A-Za-z0-9_-]{43}$/)
    expect(expiresAtMs).to.equal(service.clock.nowMs() + 15 * MINUTE_MS)
  })

  it('gets the token of its user, and the same one again when the answer was lost', async () => {
    const use = { code: await newCode(), code_verifier: newVerifier() }
    const answers = await Promise.all([redeem(use), redeem(use)])
    service.clock.advanceMs(2 * MINUTE_MS - 1)
    answers.push(await redeem(use))
    expect(answers[0]?.status, answers[0]?.text).to.equal(200)
    expect(new Set(answers.map(({ text }) => text)).size).to.equal(1)
    const { token, user } = answers[0]?.body.data ?? {}
    expect(user).to.include({ email: ANA, name: 'Ana' })
    const sessions = await send(service.url, { path: `${BASE}/sessions`, token })
    expect(sessions.body.data).to.have.lengthOf(1)
    service.clock.advanceMs(1)
    expect(codeOf(await redeem(use))).to.equal('400 invalid_grant')
    expect((await send(service.url, { path: `${BASE}/me`, token })).status).to.equal(200)
  })

  it('is nothing to those who come later, are too late, or guess', async () => {
    const code = await newCode()
    expect((await redeem({ code, code_verifier: newVerifier() })).status).to.equal(200)
    const expired = await newCode('1m')
    service.clock.advanceMs(MINUTE_MS)
    for (const tried of [code, expired, newVerifier(), '\u0000']) {
      const refused = await redeem({ code: tried, code_verifier: newVerifier() })
      expect(codeOf(refused), tried).to.equal('400 invalid_grant')
    }
    const short = await redeem({ code, code_verifier: 'x'.repeat(42) })
    expect(codeOf(short)).to.equal('422 validation_failed')
    expect(codeOf(await redeem({ code }))).to.equal('422 validation_failed')
  })

  it('is counted by address like any other sign-in', async () => {
    const strict = await startService({ RATE_LIMIT_SIGN_IN: '1' })
    const body = { code: 'x', code_verifier: newVerifier() }
    const order = { method: 'POST', path: `${BASE}/auth/link`, body }
    expect(codeOf(await send(strict.url, order))).to.equal('400 invalid_grant')
    expect(codeOf(await send(strict.url, order))).to.equal('429 rate_limited')
    await strict.stop()
  })

  it('is for somebody whom the operator knows, and for a day at most', async () => {
    const message = async (given: GivenOf<'user link'>) =>
      service.operations.run('user link', given).then(
        () => 'it was created',
        (error: Error) => error.message,
      )
    expect(await message({ user: 'ben@example.org' })).to.match(/no user has/)
    expect(await message({ user: ANA, expires: '1441m' })).to.match(/at most 24h/)
  })

  it('leaves nothing in the log that could be used', async () => {
    const code = await newCode()
    const { body } = await redeem({ code, code_verifier: newVerifier() })
    expect(service.log.text).not.to.include(code)
    expect(service.log.text).not.to.include(body.data.token)
  })
})
