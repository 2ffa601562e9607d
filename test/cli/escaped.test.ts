// Goal: nothing that callers choose does more on an operator's terminal than be read. Method: the
// real commands on names and lines full of what terminals obey.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { escaped } from '../../src/domain/escaped.ts'
import { runCommand, serveHere } from '../support/command.ts'
import type { ServiceHere } from '../support/command.ts'
import { createFleetToken } from '../support/fleet-token.ts'
import { until } from '../support/until.ts'

const USER = 'ana@example.org'
const HOSTILE = 'A\u001B]0;owned\u0007\u007F\u009B2J\u200E\u200F\u202A\u202E\u2066\u2069Z'
const HARMLESS =
  'A\\u001b]0;owned\\u0007\\u007f\\u009b2J\\u200e\\u200f\\u202a\\u202e\\u2066\\u2069Z'
/** What of it a name may have. */
const NAME = { hostile: 'A\u200E\u200FZ', harmless: 'A\\u200e\\u200fZ' }
const TEXT = { hostile: HOSTILE, harmless: HARMLESS }
const OBEYED = /(?!\n)[\p{Cc}\u200E\u200F\u202A-\u202E\u2066-\u2069]/u

describe('what commands print', () => {
  let dataDir = ''
  let service: ServiceHere | undefined

  const run = (...args: string[]) => runCommand(dataDir, args)
  const send = (path: string, method: string, token: string, body: string) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    return fetch(`${service?.url}${path}`, { method, headers, body })
  }

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'thermolog-'))
    await createFleetToken(dataDir, USER)
    const created = await run('token', 'create', '--user', USER, '--name', NAME.hostile)
    const token = created.stdout.trim().split('\n').at(-1) ?? ''
    service = await serveHere(dataDir)
    const now = `${Date.now()}000000`
    await send(
      '/write',
      'POST',
      token,
      `t,sn=0011223344 temp=1,friendly_name="${NAME.hostile}" ${now}`,
    )
    await send('/write', 'POST', token, `t,sn=${HOSTILE} humidity=1 ${now}`)
    await send('/write', 'POST', token, `t,sn=0011223344 temp=-300,note="${HOSTILE}" ${now}`)
    await run('user', 'create', '--email', 'eve@example.org', '--name', NAME.hostile)
    await until('what was skipped is noted', async () => {
      const { stdout } = await run('refused', 'list', '--skipped')
      return stdout.includes('humidity')
    })
  })
  after(async () => {
    await service?.stop()
    await rm(dataDir, { recursive: true })
  })

  const LISTS: readonly (readonly [readonly string[], typeof NAME])[] = [
    [['sensor', 'list', '--user', USER], NAME],
    [['token', 'list', '--user', USER], NAME],
    [['user', 'list'], NAME],
    [['refused', 'list'], TEXT],
    [['refused', 'list', '--skipped'], TEXT],
  ]
  for (const [list, { hostile, harmless }] of LISTS) {
    it(`is harmless: ${list.join(' ')}`, async () => {
      const { stdout } = await run(...list)
      expect(stdout).not.to.match(OBEYED)
      expect(stdout).to.include(harmless)
    })

    it(`is the same to programs: ${list.join(' ')} --json`, async () => {
      const { stdout } = await run(...list, '--json')
      expect(stdout).not.to.match(OBEYED)
      expect(JSON.stringify(JSON.parse(stdout))).to.include(JSON.stringify(hostile).slice(1, -1))
    })
  }

  it('has columns as wide as what is shown', async () => {
    const { stdout } = await run('sensor', 'list', '--user', USER)
    const [header = '', row = ''] = stdout.split('\n')
    expect(row.search(/(?:online|silent|never)  /)).to.equal(header.indexOf('state'))
  })

  it('is harmless in what is said of a deletion, and of a fault', async () => {
    const asked = await run('sensor', 'delete', '1')
    const deleted = await run('sensor', 'delete', '1', '--yes')
    const unknown = await run('sensor', 'list', '--user', `${HOSTILE}@example.org`)
    for (const { stderr } of [asked, deleted]) {
      expect(stderr).not.to.match(OBEYED)
      expect(stderr).to.include(NAME.harmless)
    }
    expect(unknown.stderr).not.to.match(OBEYED)
    expect(unknown.stderr).to.include(HARMLESS)
  })

  it('leaves what is only read as it is', () => {
    const text = 'Küche ½ °C 温度 👩‍👩‍👧 \\u001b'
    expect(escaped(text)).to.equal(text)
    expect(escaped('a\nb\tc\u2028\u061C\uD800 \uDC00')).to.equal(
      'a\\u000ab\\u0009c\\u2028\\u061c\\ud800 \\udc00',
    )
  })
})
