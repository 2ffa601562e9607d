// Goal: a service whose main thread hangs is ended and started again, and has lost nothing; one
// that is slow is left alone. Method: a module that is loaded before the service blocks its main
// thread when a signal says so, and a supervisor ends it as systemd does, while senders send.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import type { Environment } from '../support/command.ts'
import { createFleetToken } from '../support/fleet-token.ts'
import { makeNextVersion } from '../support/next-version.ts'
import { ResendingSender } from '../support/resending-sender.ts'
import { needSupervisor, Supervisor } from '../support/supervisor.ts'
import { until } from '../support/until.ts'
import { expectClean } from '../support/verify.ts'

const WATCHDOG_MS = 3_000
const LOAD_MS = 1_000
const MINUTE_MS = 60_000
const SLOW = { blocks: 10, blockMs: 300 }
/** An upgrade that takes longer than the time between two messages of a start. */
const UPGRADE_MS = 11_000

/** Holds the thread, and leaves the processor to other tests. */
const hold = (ms: number) => `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${ms})`

/** The settings with which a process runs a module first. */
const preloading = (module: string): Environment => ({
  NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(module)}`,
})

/** Blocks the main thread on SIGUSR2, so often and so long. */
const blocking = (blocks: number, blockMs: number) =>
  preloading(`
    import { setTimeout } from 'node:timers/promises'
    import { isMainThread } from 'node:worker_threads'
    if (isMainThread) process.on('SIGUSR2', async () => {
      for (let count = 0; count < ${blocks}; count++) {
        ${hold(blockMs)}
        await setTimeout(1)
      }
      process.stderr.write('blocked enough')
    })`)

describe('a service that a watchdog watches', () => {
  let folder: string
  let settings: Environment & { readonly DATA_DIR: string }
  let supervisor: Supervisor
  let token: string
  before(function () {
    needSupervisor(this)
  })
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-watchdog-'))
    settings = { DATA_DIR: join(folder, 'data'), RATE_LIMIT_REQUESTS: '0' }
    token = await createFleetToken(settings.DATA_DIR, 'a@example.org')
    supervisor = await Supervisor.begin(WATCHDOG_MS)
  })
  afterEach(async () => {
    await supervisor.close()
    await rm(folder, { recursive: true })
  })

  /** Has senders send while something happens; then all that they sent is there, once. */
  async function underLoad(story: () => Promise<void>): Promise<void> {
    const senders = ['A', 'B', 'C'].map((sn) => new ResendingSender(sn, supervisor.url, token))
    await setTimeout(LOAD_MS)
    await story()
    await setTimeout(LOAD_MS)
    for (const sender of senders) await sender.stop()
    for (const sender of senders) await sender.sendAgain()
    await supervisor.stop()
    const sent = senders.reduce((sum, { count }) => sum + count, 0)
    expect(await expectClean(settings.DATA_DIR)).to.equal(sent)
  }

  it('is ended and started again when its main thread hangs, and has lost nothing', async () => {
    await supervisor.start({ ...settings, ...blocking(1, MINUTE_MS) })
    await underLoad(async () => {
      supervisor.signal('SIGUSR2')
      const { length } = supervisor.messages
      await until('it is started again', () =>
        supervisor.messages.slice(length).some((message) => message.startsWith('READY=1 ')),
      )
      expect(supervisor.ended).to.equal(1)
    })
  })

  it('is left alone when it is slow', async () => {
    await supervisor.start({ ...settings, ...blocking(SLOW.blocks, SLOW.blockMs) })
    await underLoad(async () => {
      supervisor.signal('SIGUSR2')
      await until('it is over', () => supervisor.errors.includes('blocked enough'))
    })
    expect(supervisor.ended).to.equal(0)
  })

  it('says that it goes on while its files are brought up to date', async () => {
    const next = await makeNextVersion()
    try {
      const slow = preloading(`if (process.argv.includes('migrate')) ${hold(UPGRADE_MS)}`)
      await supervisor.start({ ...settings, ...next.environment, ...slow })
      const events = supervisor.messages.map((message) => message.split('=')[0])
      // However long it takes: every ten seconds.
      expect(events.join(' ')).to.match(/^bound( EXTEND_TIMEOUT_USEC){2,} READY( |$)/)
      await supervisor.stop()
    } finally {
      await next.remove()
    }
  })
})
