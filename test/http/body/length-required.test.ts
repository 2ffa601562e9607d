// Goal: where a body is required, a request that has neither its length nor chunks is told so, and
// nothing that follows is taken for a request.
// Method: raw connections, since HTTP clients always send a length. The body comes when the answer
// is there.

import { expect } from 'chai'
import { send } from '../../support/http.ts'
import { startMobile } from '../../support/mobile.ts'
import type { MobileTest } from '../../support/mobile.ts'
import { headOf, RawConnection } from '../../support/raw-connection.ts'
import type { RawAnswer } from '../../support/raw-connection.ts'
import { until } from '../../support/until.ts'

const MIB = 2 ** 20
/** The service drops what comes for 2 s. */
const PATIENCE_MS = 15_000
const EMAIL = 'ana@example.org'
const DAEMON = '/api/v1'
const MOBILE = '/api/mobile/v1'
const JSON_TYPE = 'application/json'
const FORM_TYPE = 'application/x-www-form-urlencoded'
const BODY = '{"sn":"A1","temp":1.5}'

interface Row {
  readonly request: readonly [method: string, path: string]
  readonly as?: 'daemon' | 'reader' | 'phone' | 'stranger'
  readonly type?: string
}

const one: Row = { request: ['POST', `${DAEMON}/measurements`], as: 'daemon', type: JSON_TYPE }

const PROBLEMS: readonly Row[] = [
  one,
  { ...one, request: ['POST', `${DAEMON}/measurements/batch`] },
  { ...one, request: ['PATCH', `${DAEMON}/sensors/1`] },
  { ...one, request: ['PATCH', `${MOBILE}/sensors/1`], as: 'phone' },
  { ...one, request: ['POST', `${MOBILE}/tokens`], as: 'phone' },
  { ...one, request: ['POST', `${MOBILE}/me/deletion`], as: 'phone' },
  { request: ['POST', `${MOBILE}/auth/forger`], type: JSON_TYPE },
  { request: ['POST', `${MOBILE}/auth/link`], type: JSON_TYPE },
  { request: ['POST', '/auth/callback/apple'], type: FORM_TYPE },
]

const LINES: readonly Row[] = [
  { request: ['POST', '/api/v2/write'], as: 'daemon' },
  { request: ['POST', '/api/v2/write?precision=fortnights'], as: 'daemon' },
  { request: ['POST', '/write'], as: 'daemon' },
]

const FORMS: readonly Row[] = [
  { request: ['POST', '/query'], type: FORM_TYPE },
  { request: ['POST', '/query?db=d'], as: 'daemon', type: FORM_TYPE },
]

/** What is wrong besides the length, and is told instead. */
const BEFORE: readonly (Row & { readonly status: number })[] = [
  { ...one, as: 'stranger', status: 401 },
  { ...one, as: 'reader', status: 403 },
  { ...one, request: ['POST', `${DAEMON}/nothing`], status: 404 },
  { ...one, request: ['PATCH', `${DAEMON}/sensors/999`], status: 404 },
  { ...one, request: ['PATCH', `${DAEMON}/measurements`], status: 405 },
  { ...one, request: ['POST', `${MOBILE}/auth/nobody`], status: 404 },
]

/** A body may be missing, or is not read. */
const WITHOUT: readonly (Row & { readonly status: number })[] = [
  { request: ['GET', `${DAEMON}/me`], as: 'daemon', status: 200 },
  { request: ['DELETE', `${DAEMON}/sensors/999`], as: 'daemon', status: 404 },
  { request: ['POST', '/query?q=SHOW+DATABASES'], status: 200 },
]

const nameOf = ({ request, as }: Row) => `${request.join(' ')} of ${as ?? 'nobody'}`

describe('a body without a length', function () {
  this.timeout(PATIENCE_MS)
  let mobile: MobileTest
  const tokens = new Map<Row['as'], string>()
  const connections: RawConnection[] = []

  before(async () => {
    mobile = await startMobile({
      ALLOW_SIGN_UP: 'true',
      ALLOW_ACCOUNT_DELETION: 'true',
      MOBILE_TOKENS: 'true',
    })
    // Tokens are issued by the clock of the machine.
    mobile.service.clock.set(new Date().toISOString())
    tokens.set('phone', await mobile.tokenOf({ claims: { sub: EMAIL, email: EMAIL } }))
    await mobile.submit(EMAIL, { sn: 'known', temp: 20 })
    tokens.set('stranger', `thd_live_${'x'.repeat(43)}`)
    tokens.set('reader', await mobile.service.createToken(EMAIL, { scope: ['sensors:read'] }))
  })

  beforeEach(async () => {
    tokens.set('daemon', await mobile.service.createToken(EMAIL))
  })

  afterEach(async () => {
    for (const connection of connections.splice(0)) connection.close()
    const token = tokens.get('daemon') ?? ''
    const { body } = await send(mobile.service.url, { path: `${DAEMON}/sensors`, token })
    const serialNumbers = (body.data as { sn: string }[]).map(({ sn }) => sn)
    expect(serialNumbers, 'stored').to.deep.equal(['known'])
  })

  after(() => mobile.stop())

  const open = async () => {
    const connection = await RawConnection.open(mobile.service.url)
    connections.push(connection)
    return connection
  }
  const headFor = ({ request, as, type }: Row, more: Record<string, string | number> = {}) => {
    const token = tokens.get(as)
    return headOf(request, {
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...(type !== undefined && { 'Content-Type': type }),
      ...more,
    })
  }
  const otherRoundTrips = async () => {
    const token = tokens.get('daemon') ?? ''
    for (let time = 0; time < 3; time++) {
      await send(mobile.service.url, { path: `${DAEMON}/me`, token })
    }
  }
  const isClosing = ({ headers }: RawAnswer) => headers.get('connection') === 'close'
  /** A whole request that would store something. */
  const storing = () => headFor(one, { 'Content-Length': BODY.length }) + BODY

  /** For a while more can be sent; none of it is answered or, see above, stored. */
  const expectDropped = async (connection: RawConnection) => {
    for (const text of [storing(), BODY, BODY]) {
      connection.write(text)
      await otherRoundTrips()
    }
    expect(connection.error).to.equal(undefined)
    expect(await connection.end()).to.equal('')
  }
  /** Sends the head, and the body when the answer is there. */
  const refusalOf = async (head: string) => {
    const connection = await open()
    connection.write(head)
    const answer = await connection.answer()
    expect([answer.status, isClosing(answer)], answer.body).to.deep.equal([411, true])
    await expectDropped(connection)
    return answer
  }

  for (const row of PROBLEMS) {
    it(`is refused, and what follows is dropped: ${nameOf(row)}`, async () => {
      const { body, headers } = await refusalOf(headFor(row))
      expect(JSON.parse(body)).to.deep.include({ status: 411, code: 'length_required' })
      expect(headers.get('content-type')).to.equal('application/problem+json')
    })
  }

  for (const row of LINES) {
    it(`is refused in the words of InfluxDB: ${nameOf(row)}`, async () => {
      const { error, code, message = error } = JSON.parse((await refusalOf(headFor(row))).body)
      expect(code).to.equal(row.request[1].startsWith('/api/v2') ? 'invalid' : undefined)
      expect(message).to.match(/^no Content-Length: /)
    })
  }

  for (const row of FORMS) {
    it(`is refused where the statement is in it: ${nameOf(row)}`, async () => {
      const { error } = JSON.parse((await refusalOf(headFor(row))).body)
      expect(error).to.match(/^no Content-Length: /)
    })
  }

  it('is refused in HTTP/1.0 too', async () => {
    await refusalOf(headFor(one).replace('HTTP/1.1', 'HTTP/1.0'))
  })

  it('is not asked for', async () => {
    await refusalOf(headFor(one, { Expect: '100-continue' }))
  })

  it('is refused before its type, its compression and the query', async () => {
    await refusalOf(headFor({ ...one, type: 'text/plain' }))
    await refusalOf(headFor(one, { 'Content-Encoding': 'br' }))
    await refusalOf(headFor({ ...one, request: ['POST', `${one.request[1]}?x=%zz`] }))
    await refusalOf(headFor({ request: ['POST', '/query'] }))
  })

  for (const row of BEFORE) {
    it(`is not mentioned where ${row.status} comes first: ${nameOf(row)}`, async () => {
      const connection = await open()
      connection.write(headFor(row))
      expect((await connection.answer()).status).to.equal(row.status)
    })
  }

  for (const row of WITHOUT) {
    it(`is none where no body is read: ${nameOf(row)}`, async () => {
      const connection = await open()
      connection.write(headFor(row))
      const answer = await connection.answer()
      expect([answer.status, isClosing(answer)], answer.body).to.deep.equal([row.status, false])
      connection.write(headFor({ request: ['GET', `${DAEMON}/me`], as: 'daemon' }))
      expect((await connection.answer()).status).to.equal(200)
    })
  }

  it('is none where a phone signs out, or rotates a token of its own', async () => {
    const other = await mobile.tokenOf({ claims: { sub: EMAIL, email: EMAIL } })
    const made = await send(mobile.service.url, {
      method: 'POST',
      path: `${MOBILE}/tokens`,
      token: other,
      body: { name: 'shed' },
    })
    const connection = await open()
    const authorization = { Authorization: `Bearer ${other}` }
    connection.write(
      headOf(['POST', `${MOBILE}/tokens/${made.body.data.id}/rotation`], authorization),
    )
    expect((await connection.answer()).status).to.equal(201)
    connection.write(headOf(['POST', `${MOBILE}/logout`], authorization))
    const answer = await connection.answer()
    expect([answer.status, isClosing(answer)]).to.deep.equal([204, false])
  })

  it('is none of length 0, after which the connection lives', async () => {
    const connection = await open()
    connection.write(headFor(one, { 'Content-Length': 0 }))
    const answer = await connection.answer()
    expect([answer.status, isClosing(answer)]).to.deep.equal([400, false])
    expect(JSON.parse(answer.body)).to.deep.include({ code: 'malformed_json' })
    for (const row of LINES.filter(({ request }) => !request[1].includes('?'))) {
      connection.write(headFor(row, { 'Content-Length': 0 }))
      expect((await connection.answer()).status).to.equal(204)
    }
  })

  for (const [what, piece] of [
    ['no requests', BODY],
    ['requests', headOf(['GET', '/healthz'], {})],
  ] as const) {
    it(`reaches a client that first sends 3 MiB that are ${what}`, async () => {
      const connection = await open()
      connection.write(headFor(one))
      await otherRoundTrips()
      await connection.writeBlindly(Buffer.alloc(3 * MIB, piece))
      const answer = await connection.answer()
      expect([answer.status, isClosing(answer)]).to.deep.equal([411, true])
      await expectDropped(connection)
    })
  }

  for (const [what, bytes] of [
    ['no request', () => BODY],
    ['a request that would be stored', storing],
  ] as const) {
    it(`reaches a client whose body comes with the head and is ${what}`, async () => {
      const connection = await open()
      connection.write(headFor(one) + bytes())
      const answer = await connection.answer()
      expect([answer.status, isClosing(answer)]).to.deep.equal([411, true])
      expect(await connection.end()).to.equal('')
    })
  }

  it('is not taken for a request while an earlier answer is under way', async () => {
    const connection = await open()
    connection.write(headFor({ request: ['GET', `${MOBILE}/events`], as: 'phone' }))
    await until('the stream has begun', () => connection.hasReceived)
    connection.write(headFor(one))
    await otherRoundTrips()
    connection.write(storing())
    await otherRoundTrips()
  })

  it('is followed by an end even if the client never stops sending', async () => {
    const connection = await open()
    connection.write(headFor(one))
    await otherRoundTrips()
    const bytes = 64 * MIB
    expect(await connection.writeBlindly(Buffer.alloc(bytes, BODY))).to.be.lessThan(bytes)
  })
})
