// Goal: sensors are calibrated, named and looked at without curl. Method: the real command beside
// a running service, whose API shows the same, and alone.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { runCommand, runProcess, serveHere } from '../support/command.ts'
import type { ServiceHere } from '../support/command.ts'
import { createFleetToken } from '../support/fleet-token.ts'
import { sendBatch } from '../support/http.ts'

const USER = 'ana@example.org'

describe('thermolog sensor', () => {
  let dataDir = ''
  let token = ''
  let id = ''
  let service: ServiceHere | undefined
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'thermolog-'))
    token = await createFleetToken(dataDir, USER)
    const order = ['sensor', 'create', '--user', USER, '--sn', 'A1', '--json']
    id = String((JSON.parse((await run(...order)).stdout) as { id: number }).id)
  })
  after(async () => {
    await service?.stop()
    await rm(dataDir, { recursive: true })
  })

  const run = (...args: string[]) => runCommand(dataDir, args)

  it('changes alias and compensation, alone', async () => {
    const { exitCode, stdout } = await run('sensor', 'set', id, '--compensation', '-0.4', '--json')
    expect(JSON.parse(stdout)).to.include({ sn: 'A1', alias: 'A1', compensation: -0.4 })
    expect(exitCode).to.equal(0)
    const renamed = await run('sensor', 'set', id, '--alias', ' Cellar ')
    expect(renamed.stdout).to.match(/^id .*\n\d+ +A1 +Cellar +-0.4\n$/)
  })

  it('changes them for the service that runs', async () => {
    service = await serveHere(dataDir)
    const order = ['sensor', 'set', id, '--alias', 'Attic', '--compensation', '+.5']
    expect((await run(...order)).exitCode).to.equal(0)
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch(`${service.url}/api/v1/sensors`, { headers })
    const { data } = (await response.json()) as { data: object[] }
    expect(data[0]).to.include({ alias: 'Attic', compensation: 0.5 })
  })

  it('lists what each has measured last, in local time, and whether it is online', async () => {
    await run('sensor', 'create', '--user', USER, '--sn', '28FF641E93160434')
    await run('sensor', 'create', '--user', USER, '--sn', 'new')
    const measurements = [
      { event_id: 'old', sn: 'A1', temp: 21.0625, timestamp: '2016-07-01T22:15:59Z' },
      { event_id: 'now', sn: '28FF641E93160434', temp: -4 },
    ]
    await sendBatch(service?.url ?? '', token, measurements)
    const list = ['sensor', 'list', '--user', USER]
    const table = await runProcess(dataDir, list, { TZ: 'America/New_York' })
    const [head, ...rows] = table.stdout.trimEnd().split('\n')
    expect(head).to.match(/^id +sn +alias +temp °C +state +time \(America\/New_York\)$/)
    expect(rows[0]).to.match(/^\d+ +A1 +Attic +21\.56 +silent  2016-07-01 18:15$/)
    expect(rows[1]).to.match(/ -4\.00 +online  \d{4}-\d\d-\d\d \d\d:\d\d$/)
    expect(rows[2]).to.match(/^\d+ +new +new +– +never +–$/)
    expect(Math.max(...table.stdout.split('\n').map(({ length }) => length))).to.be.at.most(80)
    const listed = JSON.parse((await run(...list, '--json')).stdout) as Record<string, unknown>[]
    expect(listed.map(({ online }) => online)).to.deep.equal([false, true, false])
    const timestamp = '2016-07-01T22:15:59.000Z'
    expect(listed[0]?.['latest']).to.deep.equal({ timestamp, temp: 21.5625, raw: 21.0625 })
    expect(listed[2]).to.include({ last_seen_at: null, latest: null })
  })

  const wrong = [
    { args: [], says: /^thermolog: nothing to change\nAdd --alias, --compensation or both.\n$/ },
    { args: ['--compensation', 'hot'], says: /--compensation must be a number such as .*"hot"\n$/ },
    {
      args: ['--compensation', '101'],
      says: /a compensation must be from -100 to 100 °C, not 101/,
    },
    { args: ['--alias', ' '], says: /an alias must have a visible character\n$/ },
    { args: ['--alias', 'a\u202e'], says: /an alias must not have control characters, nor any/ },
  ]
  for (const { args, says } of wrong) {
    it(`refuses ${args.join(' ')}`, async () => {
      const { exitCode, stderr } = await run('sensor', 'set', id, ...args)
      expect(stderr).to.match(says)
      expect(exitCode).to.equal(2)
    })
  }

  it('says that there is no such sensor', async () => {
    const { exitCode, stderr } = await run('sensor', 'set', '99', '--alias', 'x')
    expect(stderr).to.match(/^thermolog: no sensor has the id 99\nSee `bin\/thermolog sensor list/)
    expect(exitCode).to.equal(1)
  })
})
