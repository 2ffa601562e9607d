// Goal: who sends a token in the wrong place or form is told the right one, and never sees the
// token again. Method: the forms that are met most, against the whole service.

import { expect } from 'chai'
import { send } from '../../support/http.ts'
import { startService } from '../../support/service.ts'
import type { TestService } from '../../support/service.ts'

const SEND = 'send Authorization: Token thd_live_…, or Basic with the token as the password'
const HEADER = `missing token: the Authorization header has another form; ${SEND}`
const QUERY = `missing token: u and p are not read; ${SEND}`
const BEARER = 'The Authorization header is not of the form: Authorization: Bearer <token>.'

describe('a request without a token that can be read', () => {
  let service: TestService
  let token: string
  before(async () => {
    service = await startService()
    token = await service.createToken('a@example.org')
  })
  after(() => service.stop())

  /** @param form `$` stands for a token that works, in it and in the path */
  const ask = async (order: { method?: string; path: string }, form: string | undefined) => {
    const headers = form === undefined ? {} : { authorization: form.replace('$', token) }
    const path = order.path.replace('$', token)
    const answer = await send(service.url, { ...order, path, headers })
    expect(answer.status).to.equal(401)
    expect(answer.text + JSON.stringify(answer.headers)).not.to.contain(token)
    return answer.body
  }

  const calls = [
    { method: 'POST', path: '/api/v2/write?org=o' },
    { method: 'POST', path: '/write?db=d' },
    { method: 'GET', path: '/query?q=SELECT+temp+FROM+temperature' },
  ]
  for (const call of calls) {
    const told = async (path: string, form?: string) => {
      const body = await ask({ ...call, path: call.path + path }, form)
      return (body.message ?? body.error) as string
    }
    it(`says the form of a token to ${call.path}`, async () => {
      for (const form of ['$', 'Token: $', 'Bearer: $', 'Basic', 'Token']) {
        expect(await told('', form), form).to.equal(HEADER)
      }
      for (const query of ['&u=me&p=$', '&p=$', '&u=me']) {
        expect(await told(query), query).to.equal(QUERY)
      }
      expect(await told('')).to.equal('missing token')
    })
  }

  it('says the form of a token to the APIs of Thermolog', async () => {
    for (const path of ['/api/v1/sensors', '/api/mobile/v1/me']) {
      for (const form of ['$', 'Token $', 'Bearer: $', 'Bearer']) {
        expect((await ask({ path }, form)).detail, form).to.equal(BEARER)
      }
      expect((await ask({ path }, undefined)).detail).to.contain('Authorization: Bearer <token>')
    }
  })
})
