// Goal: an upgrade to another format loses nothing wherever it ends, and under load. Method: the
// upgrade is killed at each call that changes a file, and goes on; senders that resend everything
// that is not acknowledged see a service upgraded and taken back.

import { spawnSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { existsSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { openControl } from '../../src/sqlite/control/schema.ts'
import { runCommand, runProcess, serve, serving, servingHere } from '../support/command.ts'
import type { Environment } from '../support/command.ts'
import { useDiskFaults } from '../support/disk-faults.ts'
import type { DiskFault } from '../support/disk-faults.ts'
import { createFleetToken } from '../support/fleet-token.ts'
import { freePort } from '../support/free-port.ts'
import { sendBatch } from '../support/http.ts'
import { leaveOut } from '../support/left-out.ts'
import { byLength } from '../support/length.ts'
import { makeNextVersion } from '../support/next-version.ts'
import type { NextVersion } from '../support/next-version.ts'
import { ResendingSender } from '../support/resending-sender.ts'
import { expectClean } from '../support/verify.ts'

const FILES = ['control.db', 'ledger.db', 'measurements.db']
const USER = 'a@example.org'
const BATCH = 20
const LOAD_MS = byLength(1_500, 10_000)
/** One in so many calls is where the upgrade ends. */
const STRIDE = byLength(7, 1)

describe('an upgrade to another format', () => {
  const faults = useDiskFaults()
  let folder: string
  let next: NextVersion
  const at = (name: string) => join(folder, name)
  before(async () => {
    next = await makeNextVersion()
  })
  after(() => next?.remove())
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-upgrade-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  async function succeed(dataDir: string, args: readonly string[], settings: Environment = {}) {
    const { exitCode, stderr } = await runCommand(dataDir, args, settings)
    expect(exitCode, stderr).to.equal(0)
  }

  const upgrade = (dataDir: string, settings: Environment = {}) =>
    runProcess(dataDir, ['database', 'migrate'], { ...next.environment, ...settings })

  async function fill(dataDir: string, count: number): Promise<string> {
    const token = await createFleetToken(dataDir, USER)
    const batch = Array.from({ length: count }, (_, index) => ({
      event_id: `${index}`,
      sn: 'CELLAR',
      temp: index,
    }))
    await servingHere(dataDir, {}, async (url) => {
      expect((await sendBatch(url, token, batch)).status).to.equal(201)
    })
    return token
  }

  /** @returns whether the fault was met */
  async function endsAt(fault: DiskFault): Promise<boolean> {
    const dataDir = at(`at-${fault.at}`)
    await cp(at('data'), dataDir, { recursive: true })
    faults().order(fault)
    const { exitCode } = await upgrade(dataDir, faults().environment)
    faults().rest()
    const where = `${fault.action} at ${fault.at}: ${faults().last()}`
    const kept = join(dataDir, 'before-upgrade')
    const record = join(dataDir, 'upgrade.json')
    // From then on there is a backup, with which the older version goes on.
    if (existsSync(record)) {
      const { backup } = JSON.parse(await readFile(record, 'utf8')) as { readonly backup: string }
      await succeed(dataDir, ['verify', '--archive', backup])
    } else if (exitCode !== 0) {
      expect(await expectClean(dataDir), where).to.equal(BATCH)
    }
    const again = await upgrade(dataDir)
    expect(again.exitCode, where + again.stderr).to.equal(0)
    expect(await expectClean(dataDir, next.environment), where).to.equal(BATCH)
    const files = await readdir(kept)
    expect(files.length, `${where}: ${files.join(', ')}`).to.equal(1)
    await rm(dataDir, { recursive: true })
    return exitCode !== 0
  }

  /** How many calls of a whole upgrade change a file. */
  let calls: number | undefined
  async function countCalls(): Promise<number> {
    await cp(at('data'), at('counted'), { recursive: true })
    faults().order({ action: 'count', at: 0 })
    expect((await upgrade(at('counted'), faults().environment)).exitCode).to.equal(0)
    return faults().counted()
  }

  for (const fault of [
    { action: 'kill' },
    { action: 'cut power', seed: 7 },
    { action: 'ENOSPC', calls: ['write'] },
  ] as const) {
    it(`goes on when it is met by: ${fault.action}`, async () => {
      await fill(at('data'), BATCH)
      calls ??= await countCalls()
      let met = 0
      for (let call = 1; call <= calls; call += STRIDE) {
        if (await endsAt({ ...fault, at: call })) met++
      }
      expect(met).to.be.above(0)
    })
  }

  it('changes nothing without a backup, which can be kept elsewhere', async () => {
    await fill(at('data'), BATCH)
    await writeFile(at('data/before-upgrade'), 'in the way')
    const settings = { PORT: '0', ...next.environment }
    const refused = await runProcess(at('data'), ['serve'], settings)
    expect(refused.exitCode).to.equal(1)
    expect(refused.stderr).to.include('is no folder of DATA_DIR')
    expect(await expectClean(at('data'))).to.equal(BATCH)
    await succeed(at('data'), ['database', 'migrate', '--backup', at('kept.tar')], settings)
    for (const version of [{}, next.environment]) {
      await succeed(at('data'), ['verify', '--archive', at('kept.tar')], version)
    }
    expect(await expectClean(at('data'), next.environment)).to.equal(BATCH)
  })

  it('begins only where there is room for the copies and one more', async function () {
    await fill(at('data'), BATCH)
    const sizes = FILES.map((name) => statSync(at(`data/${name}`)).size)
    const bytes = sizes.reduce((sum, size) => sum + size, 0) + Math.max(...sizes) / 2
    await mkdir(at('small'))
    const mount = ['-t', 'tmpfs', '-o', `size=${Math.round(bytes)}`, 'tmpfs', at('small')]
    if (spawnSync('mount', mount).status !== 0) leaveOut(this, 'the right to mount')
    try {
      const order = ['database', 'migrate', '--backup', at('small/kept.tar')]
      const { exitCode, stderr } = await runProcess(at('data'), order, next.environment)
      expect(exitCode).to.equal(1)
      expect(stderr).to.match(/has \d+ MB free, and this takes \d+ MB/)
      expect(await expectClean(at('data'))).to.equal(BATCH)
    } finally {
      spawnSync('umount', [at('small')])
    }
  })

  it('is never without the backup that the older version is told of', async () => {
    const kept = () => ['database', 'migrate', '--backup', at('kept.tar')]
    const token = await fill(at('data'), BATCH)
    // A backup, and killed before anything was changed: the older version goes on.
    await mkdir(at('data/before-upgrade'))
    await succeed(at('data'), ['backup', '--keep', '1', at('data/before-upgrade')])
    await servingHere(at('data'), {}, async (url) => {
      const late = [{ event_id: 'late', sn: 'CELLAR', temp: 1 }]
      expect((await sendBatch(url, token, late)).status).to.equal(201)
    })
    await succeed(at('data'), kept(), next.environment)
    const refused = await runCommand(at('data'), ['serve'], { PORT: '0' })
    expect(refused.exitCode).to.equal(2)
    expect(refused.stderr).to.include(at('kept.tar')).and.not.include('before-upgrade')
    await succeed(at('restored'), ['restore', at('kept.tar')])
    expect(await expectClean(at('restored'))).to.equal(BATCH + 1)
    // Without it nothing else is named.
    await rm(at('kept.tar'))
    const alone = await runCommand(at('data'), ['serve'], { PORT: '0' })
    expect(alone.stderr).to.include('use the version that wrote it, or export with that one')
  })

  it('takes no other backup once it is under way', async () => {
    await fill(at('data'), BATCH)
    faults().order({ action: 'kill', at: 1, files: ['control.db'], calls: ['truncate'] })
    expect((await upgrade(at('data'), faults().environment)).exitCode).to.equal(-1)
    faults().rest()
    const order = ['database', 'migrate', '--backup', at('kept.tar')]
    const { exitCode, stderr } = await runProcess(at('data'), order, next.environment)
    expect(exitCode).to.equal(2)
    expect(stderr).to.include('the upgrade is under way').and.include('before-upgrade')
    expect((await upgrade(at('data'))).exitCode).to.equal(0)
  })

  it('refuses files that do not belong together, and keeps the backup there is', async () => {
    await fill(at('data'), BATCH)
    await cp(at('data/measurements.db'), at('older.db'))
    const token = await createFleetToken(at('data'), 'b@example.org')
    await servingHere(at('data'), {}, async (url) => {
      const more = [{ event_id: 'more', sn: 'CELLAR', temp: 1 }]
      expect((await sendBatch(url, token, more)).status).to.equal(201)
    })
    await cp(at('older.db'), at('data/measurements.db'))
    const { exitCode, stderr } = await upgrade(at('data'))
    expect(exitCode).to.equal(1)
    expect(stderr).to.include('measurements.db')
    expect(existsSync(at('data/before-upgrade'))).to.equal(false)
  })

  it('needs no backup of what a killed first start has left', async () => {
    await mkdir(at('data'))
    openControl(at('data')).close()
    expect((await upgrade(at('data'))).exitCode).to.equal(0)
    await serving(at('data'), next.environment, async () => undefined)
    expect(existsSync(at('data/before-upgrade'))).to.equal(false)
  })

  it('comes after `database restored`, which only the older version does', async () => {
    await fill(at('data'), BATCH)
    const { exitCode, stderr } = await runProcess(
      at('data'),
      ['database', 'restored'],
      next.environment,
    )
    expect(exitCode).to.equal(2)
    expect(stderr).to.include('run this command with that version')
  })

  it('of a backup happens while it is restored', async () => {
    await fill(at('data'), BATCH)
    await succeed(at('data'), ['backup', at('older.tar')])
    await succeed(at('restored'), ['restore', at('older.tar')], next.environment)
    expect(await expectClean(at('restored'), next.environment)).to.equal(BATCH)
    await serving(at('restored'), next.environment, async () => undefined)
    expect(existsSync(at('restored/before-upgrade'))).to.equal(false)
  })

  it('and the way back cost senders nothing but time', async () => {
    const token = await createFleetToken(at('data'), USER)
    const settings = { PORT: String(await freePort()), RATE_LIMIT_REQUESTS: '0' }
    const versions = [settings, { ...settings, ...next.environment }]
    const url = `http://127.0.0.1:${settings.PORT}`
    const senders = ['A', 'B', 'C'].map((sn) => new ResendingSender(sn, url, token))
    for (const version of versions) {
      const service = await serve(at('data'), version)
      await setTimeout(LOAD_MS)
      expect(await service.stop()).to.equal(0)
    }
    const [backup = ''] = await readdir(at('data/before-upgrade'))
    await rename(at('data'), at('newer'))
    await succeed(at('data'), ['restore', at(`newer/before-upgrade/${backup}`)])
    const service = await serve(at('data'), settings)
    await setTimeout(LOAD_MS)
    for (const sender of senders) await sender.stop()
    for (const sender of senders) await sender.sendAgain()
    expect(await service.stop()).to.equal(0)
    const all = senders.reduce((sum, { count }) => sum + count, 0)
    expect(await expectClean(at('data'))).to.equal(all)
  })
})
