// Goal: gateways behind a proxy notice of a restart or an upgrade only that they wait: no
// connection fails, and the proxy never answers for the service. Method: hundreds of gateways send
// through a real nginx while the service, whose socket is held for it, is stopped and started.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import type { Environment } from '../support/command.ts'
import { createFleetToken } from '../support/fleet-token.ts'
import { Gateways } from '../support/gateways.ts'
import { byLength } from '../support/length.ts'
import { makeNextVersion } from '../support/next-version.ts'
import type { NextVersion } from '../support/next-version.ts'
import { needNginx, startNginx } from '../support/nginx.ts'
import type { Nginx } from '../support/nginx.ts'
import { needSupervisor, Supervisor } from '../support/supervisor.ts'
import { verify } from '../support/verify.ts'

const GATEWAYS = 300
const RESTARTS = byLength(3, 20)
const LOAD_MS = 2_000
const WATCHDOG_MS = 30_000
/** A restart's second or two, or the five of a refusal; many on a busy machine. */
const WAIT_MS_MAX = 50_000

describe('300 gateways behind nginx', () => {
  let folder: string
  let supervisor: Supervisor
  let nginx: Nginx
  let next: NextVersion
  let settings: Environment
  let gateways: Gateways
  before(async function () {
    needNginx(this)
    needSupervisor(this)
    next = await makeNextVersion()
  })
  after(() => next?.remove())
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-restarts-'))
    const dataDir = join(folder, 'data')
    settings = { DATA_DIR: dataDir, RATE_LIMIT_REQUESTS: '0', RATE_LIMIT_MEASUREMENTS: '0' }
    const token = await createFleetToken(dataDir, 'fleet@example.org')
    supervisor = await Supervisor.begin(WATCHDOG_MS)
    await supervisor.start(settings)
    nginx = await startNginx(supervisor.url)
    gateways = new Gateways(GATEWAYS, nginx.url, token)
    await setTimeout(LOAD_MS)
  })
  afterEach(async () => {
    await gateways.stop()
    await supervisor.close()
    await nginx.stop()
    await rm(folder, { recursive: true })
  })

  /** All was acknowledged, and is there once. */
  async function expectAll(environment: Environment): Promise<void> {
    await setTimeout(LOAD_MS)
    await gateways.stop()
    await gateways.sendAgain()
    await supervisor.stop()
    const { count, refused, failures, longestWaitMs } = gateways
    const longest = `${Math.round(longestWaitMs)} ms`
    const told = `${count} acknowledged, ${refused} refused, the longest wait ${longest}`
    process.stderr.write(`      ${told}\n`)
    expect(failures).to.deep.equal([])
    const {
      clean,
      measurements,
      event_ids: eventIds,
    } = await verify(settings['DATA_DIR']!, environment)
    expect({ clean, measurements, eventIds }).to.deep.equal({
      clean: true,
      measurements: count,
      eventIds: count,
    })
    expect(longestWaitMs).to.be.below(WAIT_MS_MAX)
  }

  it('notice of restarts only that they wait', async () => {
    for (let count = 0; count < RESTARTS; count++) {
      await supervisor.restart(settings)
      await setTimeout(LOAD_MS)
    }
    await expectAll({})
  })

  it('notice of an upgrade to another format only that they wait', async () => {
    await supervisor.restart({ ...settings, ...next.environment })
    await expectAll(next.environment)
  })
})
