// Goal: data of an older version are brought up to date after a backup of them, and that backup is
// the way back. Method: this version and a next one, with other formats, take turns on a DATA_DIR.

import { mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { runProcess, serving } from '../support/command.ts'
import type { Environment } from '../support/command.ts'
import { createFleetToken } from '../support/fleet-token.ts'
import { sendUnchecked } from '../support/http.ts'
import { makeNextVersion } from '../support/next-version.ts'
import type { NextVersion } from '../support/next-version.ts'

describe('an upgrade to another format', () => {
  let folder: string
  let next: NextVersion
  let token: string
  const at = (name: string) => join(folder, name)
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-upgrade-'))
    next = await makeNextVersion()
    token = await createFleetToken(at('data'), 'a@example.org')
  })
  after(async () => {
    await next.remove()
    await rm(folder, { recursive: true })
  })

  /** @returns the status of each */
  async function send(eventIds: readonly string[], settings: Environment = {}): Promise<number[]> {
    return serving(at('data'), settings, async (url) => {
      const statuses: number[] = []
      for (const eventId of eventIds) {
        const body = { event_id: eventId, sn: 'CELLAR', temp: 21.5 }
        const request = { method: 'POST', path: '/api/v1/measurements', token, body }
        statuses.push((await sendUnchecked(url, request)).status)
      }
      return statuses
    })
  }

  it('is refused to commands, which say what to do', async () => {
    const { exitCode, stderr } = await runProcess(at('data'), ['user', 'list'], next.environment)
    expect(exitCode).to.equal(2)
    expect(stderr).to.include('serve` brings it up to date')
  })

  it('is a warning of doctor: the service can be started', async () => {
    const { exitCode, stdout } = await runProcess(at('data'), ['doctor'], next.environment)
    expect(exitCode, stdout).to.equal(0)
    expect(stdout).to.match(/^warning +data +the files have the format of an older version$/m)
  })

  it('keeps what was stored, and a backup with which the older version goes on', async () => {
    expect(await send(['first'])).to.deep.equal([201])
    expect(await send(['first', 'second'], next.environment)).to.deep.equal([200, 201])
    const [backup = '', ...more] = await readdir(at('data/before-upgrade'))
    expect(more).to.deep.equal([])

    const refused = await runProcess(at('data'), ['serve'], { PORT: '0' })
    expect(refused.exitCode).to.equal(2)
    expect(refused.stderr).to.include(backup).and.include('lose what was accepted since')
    const looked = await runProcess(at('data'), ['doctor'])
    expect(looked.exitCode).to.equal(1)
    expect(looked.stdout).to.match(/^WRONG +data .*has schema version \d+, this version of/m)

    await rename(at('data'), at('newer'))
    const restored = await runProcess(at('data'), ['restore', at(`newer/before-upgrade/${backup}`)])
    expect(restored.exitCode, restored.stderr).to.equal(0)
    expect(restored.stdout).to.include('1 user, 1 sensor, 1 measurement')
  })
})
