// Goal: sensors are calibrated and named without curl. Method: the real command beside a running
// service, whose API shows the same, and alone.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { runCommand, serve } from '../support/command.ts'
import type { RunningService } from '../support/command.ts'
import { createFleetToken } from '../support/fleet-token.ts'

const USER = 'ana@example.org'

describe('thermolog sensor set', () => {
  let dataDir = ''
  let token = ''
  let id = ''
  let service: RunningService | undefined
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
    expect(renamed.stdout).to.match(/^id .*\n\d+ +A1 +Cellar +-0.4 /)
  })

  it('changes them for the service that runs', async () => {
    service = await serve(dataDir)
    const order = ['sensor', 'set', id, '--alias', 'Attic', '--compensation', '+.5']
    expect((await run(...order)).exitCode).to.equal(0)
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch(`${service.url}/api/v1/sensors`, { headers })
    const { data } = (await response.json()) as { data: object[] }
    expect(data[0]).to.include({ alias: 'Attic', compensation: 0.5 })
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
