// Goal: a peer that answers a byte at a time holds no daemon of examples/daemon/. Method: a proxy
// passes the first answer so slowly that it would take minutes; the daemons send again meanwhile.

import { expect } from 'chai'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startWorker } from '../../src/threads/start-threads.ts'
import { Daemon, DAEMONS, needPrograms } from '../support/daemon.ts'
import { FaultProxy } from '../support/fault-proxy.ts'
import type { Fault } from '../support/fault-proxy.ts'
import { send } from '../support/http.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const DRIP: Fault = { kind: 'drip_reply', everyMs: 2_000 }

describe('an answer that drips', () => {
  let service: TestService
  let folder: string

  before(async () => {
    service = await startService({}, startWorker)
    service.clock.set(new Date(Math.max(Date.now(), service.clock.nowMs())).toISOString())
    folder = await mkdtemp(join(tmpdir(), 'thermolog-daemon-'))
  })

  after(async () => {
    await service.stop()
    await rm(folder, { recursive: true })
  })

  // All at once: each waits for half a minute.
  it('is given up by every example daemon, and the reading is stored once', async function () {
    for (const kind of DAEMONS) needPrograms(this, kind)
    const stories = DAEMONS.map(async (kind) => {
      const proxy = await FaultProxy.start(service.url)
      const token = await service.createToken(`${kind.name}@example.org`)
      const posts = () => proxy.requests.filter(({ method }) => method === 'POST')
      proxy.decide = ({ method }) =>
        method === 'POST' && posts().length === 1 ? DRIP : { kind: 'pass' }
      const daemon = new Daemon(kind, { url: proxy.url, token, spool: join(folder, kind.name) })
      await daemon.give('cellar', 1)
      expect(await daemon.finish(), daemon.errors).to.equal(0)
      expect(posts(), kind.name).to.have.lengthOf(2)
      const { body } = await send(service.url, { path: '/api/v1/sensors', token })
      expect(body.data[0].latest.temp).to.equal(1)
      await proxy.close()
    })
    await Promise.all(stories)
  })
})
