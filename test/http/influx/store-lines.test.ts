// Measurements without an event id are stored each time they are sent. Goal: a sender that is told
// of a failure has stored none of them, whatever failed. Method: a table of the service cannot be
// written for a while.

import { expect } from 'chai'
import { join } from 'node:path'
import { CONTROL_FILE, openTagged } from '../../../src/sqlite/database.ts'
import { send } from '../../support/http.ts'
import { startService } from '../../support/service.ts'
import type { TestService } from '../../support/service.ts'

const NOW_S = Date.UTC(2026, 10, 20, 10, 15) / 1_000

describe('measurements without an event id', () => {
  let service: TestService
  let user: string
  let token: string
  let users = 0

  before(async () => {
    service = await startService({ AUTO_REGISTER: 'false' })
  })
  after(() => service.stop())
  beforeEach(async () => {
    user = `a${++users}@example.org`
    token = await service.createToken(user)
    for (const serialNumber of ['timed', 'timeless']) {
      await service.operations.run('sensor create', { user, sn: serialNumber })
    }
  })

  const change = (sql: string) => {
    const db = openTagged(join(service.dataDir, CONTROL_FILE))
    db.exec(sql)
    db.close()
  }
  /** Does something while something cannot be written, such as new rows of a table. */
  const without = async <Result>(written: string, work: () => Promise<Result>) => {
    const full = `SELECT RAISE(ABORT, 'it is full')`
    change(`CREATE TRIGGER full BEFORE ${written} BEGIN ${full}; END`)
    try {
      return await work()
    } finally {
      change('DROP TRIGGER full')
    }
  }
  const write = (...lines: readonly string[]) =>
    send(service.url, {
      method: 'POST',
      path: '/api/v2/write?precision=s',
      headers: { authorization: `Token ${token}` },
      body: lines.join('\n'),
    })
  const submit = (...measurements: readonly unknown[]) => {
    const path = '/api/v1/measurements/batch?on_invalid=skip'
    return send(service.url, { method: 'POST', path, token, body: { measurements } })
  }
  const latest = async () => {
    const { body } = await send(service.url, { path: '/api/v1/sensors', token })
    const list = body.data as { sn: string; latest: { raw: number } | null }[]
    return list.find(({ sn }) => sn === 'timeless')?.latest?.raw
  }

  const named = { sn: 'timeless', temp: 2 }
  const cases: Record<string, readonly [string, () => ReturnType<typeof write>]> = {
    'a line that cannot be read': ['INSERT ON refused', () => write('timeless temp=2', 'no line')],
    'a measurement with a time that is ahead': [
      'INSERT ON refused',
      () => write(`timed temp=1 ${NOW_S + 3_600}`, 'timeless temp=2'),
    ],
    'another point without a time, of a sensor that is not known': [
      'INSERT ON refused',
      () => write('timeless temp=2', 'unknown temp=1'),
    ],
    'a token that has stored its first line': [
      'UPDATE OF has_stored_lines ON access_tokens',
      () => write('timeless temp=2'),
    ],
    'an element that cannot be read': ['INSERT ON refused', () => submit(named, { sn: 'timed' })],
    'an element of a sensor that is not known': [
      'INSERT ON refused',
      () => submit(named, { sn: 'unknown', temp: 1 }),
    ],
  }
  for (const [what, [written, attempt]] of Object.entries(cases)) {
    it(`are not stored when this cannot be noted: ${what}`, async () => {
      const { status } = await without(written, attempt)
      expect(status).to.be.at.least(500)
      expect(await latest()).to.equal(undefined)
      expect((await attempt()).status).to.be.below(500)
      expect(await latest()).to.equal(2)
    })
  }
})
