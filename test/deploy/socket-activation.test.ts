// Goal: with a socket that systemd holds, a restart refuses nobody. Method: the real command, its
// listening socket handed over as systemd does it, and kept open while the service is away.

import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { ChildProcess } from 'node:child_process'
import { expect } from 'chai'
import { HeldSocket } from '../support/held-socket.ts'

describe('a socket that systemd hands over', () => {
  let dataDir: string
  let held: HeldSocket
  let service: ChildProcess
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'thermolog-'))
    held = new HeldSocket()
  })
  afterEach(async () => {
    await stop()
    held.close()
    await rm(dataDir, { recursive: true })
  })

  /** @returns where it listens by its own account */
  async function start(): Promise<string | undefined> {
    // A port that would be an error if it were listened on.
    service = held.startService({ DATA_DIR: dataDir, HOST: '192.0.2.1', PORT: '1' })
    for await (const line of createInterface(service.stdout!)) {
      const { message, url } = JSON.parse(line) as { message: string; url?: string }
      if (message === 'ready') return url
    }
    return undefined
  }

  async function stop(): Promise<void> {
    if (service.exitCode !== null) return
    service.kill()
    await once(service, 'exit')
  }

  it('takes the place of HOST and PORT, and whoever comes during a restart waits', async () => {
    expect(await start()).to.equal(held.url)
    expect((await fetch(`${held.url}/healthz`)).status).to.equal(200)
    await stop()
    const waiting = Array.from({ length: 20 }, () => fetch(`${held.url}/healthz`))
    await start()
    const statuses = (await Promise.all(waiting)).map(({ status }) => status)
    expect(statuses).to.deep.equal(Array.from({ length: 20 }, () => 200))
  })
})
