// Goal: every route that takes a body says how long it may be, and one that takes none reads none.
// Method: more than any may have, announced to each route of the API's description.

import { expect } from 'chai'
import { requestBodyBytesMax, signInBodyBytesMax } from '../../../src/domain/limits.ts'
import { startMobile } from '../../support/mobile.ts'
import type { MobileTest } from '../../support/mobile.ts'
import { headOf, RawConnection } from '../../support/raw-connection.ts'
import { send } from '../../support/http.ts'

interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> }
}

describe('the bounds of bodies', () => {
  let mobile: MobileTest
  let operations: (Operation & { readonly method: string; readonly path: string })[]
  let values: Readonly<Record<string, string>>
  let tokens: Readonly<Record<string, string>>

  before(async () => {
    mobile = await startMobile({ ALLOW_ACCOUNT_DELETION: 'true' })
    const { service } = mobile
    // Sessions begin by the clock of the machine.
    service.clock.set(new Date().toISOString())
    const daemon = await service.createToken('ana@example.org')
    const { body } = await send(service.url, {
      method: 'POST',
      path: '/api/v1/measurements',
      token: daemon,
      body: { sn: 'A1', temp: 1 },
    })
    tokens = { daemon, mobile: await mobile.tokenOf() }
    const made = await send(service.url, {
      method: 'POST',
      path: '/api/mobile/v1/tokens',
      token: tokens['mobile'] ?? '',
      body: { name: 'own' },
    })
    const [id, token] = [body.data.sensor_id, made.body.data.id].map(String)
    values = { id: String(id), token: String(token), idp: 'forger', session: '1' }
    const { body: document } = await send(service.url, { path: '/openapi.json' })
    const paths = Object.entries(document.paths as Record<string, Record<string, Operation>>)
    operations = paths.flatMap(([path, ofPath]) =>
      Object.entries(ofPath)
        .filter(([method]) => method !== 'get')
        .map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
    )
  })

  after(() => mobile.stop())

  const answerTo = async (method: string, pattern: string, type: string | undefined) => {
    const path = pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '')
    const token = path.startsWith('/api/mobile/') ? tokens['mobile'] : tokens['daemon']
    const connection = await RawConnection.open(mobile.service.url)
    connection.write(
      headOf([method, path], {
        Authorization: `Bearer ${token}`,
        'Content-Length': requestBodyBytesMax + 1,
        ...(type !== undefined && { 'Content-Type': type }),
      }),
    )
    const { status } = await connection.answer()
    connection.close()
    return status
  }

  it('are those of the route that is asked', async () => {
    const withBody = operations.filter(({ requestBody }) => requestBody !== undefined)
    expect(withBody.map(({ method, path }) => `${method} ${path}`)).to.include.members([
      'POST /api/v1/measurements',
      'POST /api/v2/write',
      'POST /query',
      'POST /auth/callback/{idp}',
    ])
    const told: Record<string, number> = {}
    for (const { method, path, requestBody } of withBody) {
      const [type] = Object.keys(requestBody?.content ?? {})
      told[`${method} ${path}`] = await answerTo(method, path, type)
    }
    expect(told).to.deep.equal(Object.fromEntries(Object.keys(told).map((route) => [route, 413])))
  })

  it('allow a small body no more for its compression than it may have', async () => {
    const connection = await RawConnection.open(mobile.service.url)
    connection.write(
      headOf(['POST', '/api/mobile/v1/auth/forger'], {
        'Content-Length': 2 * signInBodyBytesMax + 1,
        'Content-Type': 'application/json',
        'Content-Encoding': 'gzip',
      }),
    )
    const { status } = await connection.answer()
    connection.close()
    expect(status).to.equal(413)
  })

  it('leave a body unread where none is taken', async () => {
    for (const { method, path, requestBody } of operations) {
      if (requestBody !== undefined) continue
      expect(await answerTo(method, path, undefined), `${method} ${path}`).to.not.equal(413)
    }
  })
})
