// Goal: a service that ends while it merges runs of its ledger knows every event afterwards, once,
// and goes on with the merge. Method: a ledger that lacks one run for a merge, an epoch that lacks
// a few events for a seal, and a round that brings both about; ended at calls all over it.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { epochEvents, submissionMeasurementsMax } from '../../src/domain/limits.ts'
import { openForReading } from '../../src/sqlite/database.ts'
import { useDiskFaults } from '../support/disk-faults.ts'
import { FaultyService } from '../support/faulty-service.ts'
import { byLength } from '../support/length.ts'
import { until } from '../support/until.ts'
import { dealIntoYoungRuns } from '../support/young-runs.ts'

/** As many whole batches as an epoch holds, and then one less than a round sends. */
const SEALED = Math.floor(epochEvents / submissionMeasurementsMax) * submissionMeasurementsMax
const UNSEALED = epochEvents - 20

const say = (what: string) => process.stderr.write(`      ${what}\n`)

describe('a service that ends while it merges', () => {
  const faults = useDiskFaults()
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-faults-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  it('knows every event once, and goes on with the merge', async () => {
    const filled = new FaultyService(join(folder, 'filled'), faults().environment)
    await filled.startHere()
    await filled.prepare()
    expect(await filled.fill(SEALED + UNSEALED)).to.equal(201)
    await until('an epoch is sealed', () => count(filled.dataDir, 'runs') > 0)
    await filled.stop()
    dealIntoYoungRuns(filled.dataDir)

    const order = { files: ['ledger.db'], at: Number.MAX_SAFE_INTEGER } as const
    const counting = await filled.copyTo(join(folder, 'counting'))
    faults().order({ ...order, action: 'count' })
    await counting.start()
    await counting.runRound()
    await until('the runs are merged', () => isMerged(counting.dataDir))
    // Before it is stopped: nobody stops those that are to be ended in the middle.
    const calls = faults().counted()
    await counting.stop()

    const points = byLength(2, 24)
    for (let point = 1; point <= points; point++) {
      faults().rest()
      const service = await filled.copyTo(join(folder, `merging-${point}`))
      const action = point % 2 === 0 ? 'kill' : 'cut power'
      faults().order({ ...order, action, at: Math.ceil((calls * point) / (points + 1)) })
      await service.start()
      await service.runRound()
      await service.ended()
      const found = count(service.dataDir, 'runs WHERE merged_into IS NOT NULL')
      say(`${action} at ${faults().last()}, ${found} runs being merged`)
      faults().rest()
      expect(await service.checkHere()).to.be.at.least(SEALED + UNSEALED)
      await rm(join(folder, `merging-${point}`), { recursive: true })
    }
  })
})

function isMerged(dataDir: string): boolean {
  return count(dataDir, 'runs') === 1
}

function count(dataDir: string, what: string): number {
  const db = openForReading(dataDir, 'ledger.db')
  const found = db.prepare<[], number>(`SELECT count(*) FROM ${what}`).pluck().get() ?? 0
  db.close()
  return found
}
