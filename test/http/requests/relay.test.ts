import { expect } from 'chai'
import { send } from '../../support/http.ts'
import type { TestAnswer } from '../../support/http.ts'
import { codeOf, startMobile } from '../../support/mobile.ts'
import type { MobileTest } from '../../support/mobile.ts'

describe('the relay', () => {
  let mobile: MobileTest

  before(async () => {
    mobile = await startMobile({ MOBILE_CALLBACK_URL: 'org.example.thermolog:/back?from=relay' })
  })
  after(() => mobile.stop())

  const path = '/auth/callback/apple'
  const target = (answer: TestAnswer) => {
    expect([answer.status, answer.text]).to.deep.equal([303, ''])
    expect(answer.headers['cache-control']).to.equal('no-store')
    expect(answer.headers['referrer-policy']).to.equal('no-referrer')
    const { location = '' } = answer.headers
    expect(location).to.match(/^org\.example\.thermolog:\/back\?from=relay/)
    return Object.fromEntries(new URL(location).searchParams)
  }

  it('sends on what OAuth has to say, and nothing else', async () => {
    const query = 'code=a%20b%2B&state=s&iss=https%3A%2F%2Fx&user=%7B%7D&scope=email&id_token=t'
    expect(target(await send(mobile.service.url, { path: `${path}?${query}` }))).to.deep.equal({
      from: 'relay',
      code: 'a b+',
      state: 's',
      iss: 'https://x',
    })
    const failed = `${path}?error=access_denied&error_description=no%0d%0aX:+y`
    expect(target(await send(mobile.service.url, { path: failed }))).to.deep.equal({
      from: 'relay',
      error: 'access_denied',
      error_description: 'no\r\nX: y',
    })
  })

  it('takes the form that Apple posts', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const body = 'state=s&code=c%2Fd+e&user=%7B%22email%22%3A%22a%40b%22%7D&id_token=x'
    const answer = await send(mobile.service.url, { method: 'POST', path, headers, body })
    expect(target(answer)).to.deep.equal({ from: 'relay', state: 's', code: 'c/d e' })
    const json = await send(mobile.service.url, { method: 'POST', path, body: { code: 'c' } })
    expect(codeOf(json)).to.equal('415 unsupported_media_type')
    const long = { method: 'POST', path, headers, body: `code=${'x'.repeat(17_000)}` }
    expect(codeOf(await send(mobile.service.url, long))).to.equal('413 body_too_large')
  })

  it('refuses what is there twice, and providers that there are not', async () => {
    const twice = await send(mobile.service.url, { path: `${path}?code=a&code=b` })
    expect(codeOf(twice)).to.equal('400 invalid_request')
    const nobody = await send(mobile.service.url, { path: '/auth/callback/nobody?code=a' })
    expect(codeOf(nobody)).to.equal('404 unknown_provider')
    const put = await send(mobile.service.url, { method: 'PUT', path })
    expect([codeOf(put), put.headers.allow]).to.deep.equal([
      '405 method_not_allowed',
      'GET, HEAD, POST',
    ])
  })

  it('logs none of it', () => {
    expect(mobile.service.log.text).not.to.match(/code=|a%20b|access_denied|c\/d/)
  })
})
