// Goal: a service that is ended at any step of its path keeps its promises. Method: the calls that
// change its files are counted from outside, and the process is killed, or the power is cut, at
// some of them, spread over all; test/faults/kill-points.test.ts has all of them.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { useDiskFaults } from '../support/disk-faults.ts'
import { sweepFirstStart, sweepRounds } from '../support/fault-sweep.ts'
import { FaultyService } from '../support/faulty-service.ts'

describe('a service that ends at a step of its path', () => {
  const faults = useDiskFaults()
  let folder: string
  let services = 0
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-faults-'))
  })
  afterEach(() => rm(folder, { recursive: true }))
  const create = () => new FaultyService(join(folder, `${++services}`), faults().environment)

  it('keeps what it acknowledged when it is killed', async () => {
    // Where the calls of other files are among these depends on how fast the store follows.
    const sweep = { action: 'kill', points: 2, files: ['control.db'] } as const
    const hit = await sweepRounds(faults(), create(), sweep)
    expect([...hit].join()).to.match(/of control\.db-wal/)
  })

  it('keeps what it acknowledged when the power is cut', async () => {
    await sweepRounds(faults(), create(), { action: 'cut power', points: 1 })
  })

  it('starts again when it is killed in its first start', async () => {
    await sweepFirstStart(faults(), create, { action: 'kill', points: 1 })
  })
})
