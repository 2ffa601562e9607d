// Goal: a start with little room on the disk gives up the space of the logs and loses nothing of
// what is in them, wherever it ends. Method: a killed service on a small file system; a start on a
// copy, ended at any call that changes a file, then another start.

import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { DiskFault } from '../support/disk-faults.ts'
import { useDiskFaults } from '../support/disk-faults.ts'
import { FaultyService } from '../support/faulty-service.ts'
import { leaveOut } from '../support/left-out.ts'
import { byLength } from '../support/length.ts'

const LOGS = ['control.db-wal', 'ledger.db-wal', 'measurements.db-wal']
const FILLED = 20_000
/** What a start itself writes. */
const FRESH_LOG_BYTES_MAX = 100_000

describe('a start with little room', () => {
  const faults = useDiskFaults()
  let folder = ''
  let copies = 0
  let original: FaultyService
  before(async function () {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-logs-'))
    const options = ['-t', 'tmpfs', '-o', 'size=128m', 'tmpfs', folder]
    if (spawnSync('mount', options).status !== 0) leaveOut(this, 'the right to mount')
    original = new FaultyService(join(folder, 'killed'), {})
    await original.start()
    await original.prepare()
    expect(await original.fill(FILLED)).to.equal(201)
    await original.runRound()
    await original.stop('SIGKILL')
    expect(logBytes(original)).to.be.greaterThan(10 * FRESH_LOG_BYTES_MAX)
  })
  after(async () => {
    spawnSync('umount', [folder])
    await rm(folder, { recursive: true, force: true })
  })

  const copy = () => original.copyTo(join(folder, `${++copies}`), faults().environment)

  const logBytes = ({ dataDir }: FaultyService) =>
    LOGS.map((name) => join(dataDir, name))
      .filter((file) => existsSync(file))
      .reduce((sum, file) => sum + statSync(file).size, 0)

  /** @returns how many calls of a whole start changed a file */
  async function countCalls(): Promise<number> {
    const whole = await copy()
    faults().order({ action: 'count', at: Number.MAX_SAFE_INTEGER })
    expect(await whole.start()).to.equal(true)
    const calls = faults().counted()
    expect(logBytes(whole)).to.be.lessThan(FRESH_LOG_BYTES_MAX)
    await whole.stop()
    return calls
  }

  let calls: number | undefined
  const ends: readonly (Omit<DiskFault, 'at'> & { readonly what: string })[] = [
    { what: 'is killed', action: 'kill' },
    { what: 'is killed while it writes', action: 'tear', calls: ['write'] },
    { what: 'loses its power and all that was not synced', action: 'cut power' },
    { what: 'loses its power and some that was not synced', action: 'cut power', seed: 7 },
    { what: 'finds no room', action: 'ENOSPC', calls: ['write'], times: 1_000_000 },
  ]
  for (const { what, ...fault } of ends) {
    it(`empties the logs, and loses nothing when it ${what}`, async () => {
      calls ??= await countCalls()
      const points = Math.min(byLength(2, 40), calls)
      for (let point = 1; point <= points; point++) {
        const service = await copy()
        faults().order({ ...fault, at: Math.ceil((calls * point) / (points + 1)) })
        const hasStarted = await service.start()
        if (fault.action === 'ENOSPC') expect(hasStarted).to.equal(true)
        await service.stop('SIGKILL')
        const last = faults().last()
        faults().rest()
        expect(await service.checkHere(), last).to.be.at.least(FILLED)
        await rm(join(service.dataDir, '..'), { recursive: true })
      }
    })
  }
})
