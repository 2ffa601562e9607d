// Goal: a service that is ended at any step of its path keeps its promises: before a commit, after
// it and before the answer, while it forwards, after that and before the mark, while it sums up,
// deletes, seals, makes its files and stops. Method: as in test/paths/kill-points.test.ts, at
// every call that changes a file; beside kills also writes that are done by half, power cuts,
// errors and full disks.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { useDiskFaults } from '../support/disk-faults.ts'
import { epochEvents } from '../../src/domain/limits.ts'
import type { DiskFault } from '../support/disk-faults.ts'
import { sweepFirstStart, sweepRounds } from '../support/fault-sweep.ts'
import { FaultyService } from '../support/faulty-service.ts'
import { byLength } from '../support/length.ts'

const ALL = 1_000
/** One epoch, less than a round sends. */
const NEARLY_AN_EPOCH = epochEvents - 20

const POINTS_BETWEEN_LINES = 50

const say = (what: string) => process.stderr.write(`      ${what}\n`)

function sayHowFar(point: number, count: number): void {
  if (point % POINTS_BETWEEN_LINES === 0) say(`${point} of ${count}`)
}

describe('a service that ends at any step of its path', () => {
  const faults = useDiskFaults()
  let folder: string
  let services = 0
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-faults-'))
  })
  afterEach(() => rm(folder, { recursive: true }))
  const create = () => new FaultyService(join(folder, `${++services}`), faults().environment)

  const sweeps: readonly (Omit<DiskFault, 'at'> & {
    readonly what: string
    readonly short: number
  })[] = [
    { what: 'is killed', action: 'kill', short: 4 },
    { what: 'is killed while it writes', action: 'tear', calls: ['write'], short: 2 },
    { what: 'loses its power and all that was not synced', action: 'cut power', short: 2 },
    {
      what: 'loses its power and some that was not synced',
      action: 'cut power',
      seed: 7,
      short: 2,
    },
    { what: 'gets an error from a sync', action: 'EIO', calls: ['sync'], short: 2 },
    { what: 'gets an error from a write', action: 'EIO', calls: ['write'], short: 2 },
    { what: 'finds the disk full', action: 'ENOSPC', calls: ['write'], times: 3, short: 2 },
  ]
  for (const { what, short, ...fault } of sweeps) {
    it(`keeps what it acknowledged when it ${what}`, async () => {
      const sweep = { ...fault, points: byLength(short, ALL), onPoint: sayHowFar }
      const hit = await sweepRounds(faults(), create(), sweep)
      say([...hit].sort().join(', '))
    })
  }

  it('starts again when it is killed anywhere in its first start', async () => {
    const points = byLength(2, ALL)
    await sweepFirstStart(faults(), create, { action: 'kill', points, onPoint: sayHowFar })
  })

  // The first two of the store move what the start has written into its file; the third is of the
  // head of its log, in a write that is then done again.
  for (const [file, at] of [
    ['control.db', 1],
    ['measurements.db', 1],
    ['measurements.db', 2],
    ['measurements.db', 4],
  ] as const) {
    it(`ends at sync ${at} of ${file}, since nobody knows what is on disk`, async () => {
      const service = create()
      await service.start()
      await service.prepare()
      faults().order({ action: 'EIO', at, files: [file], calls: ['sync'] })
      await service.runRound()
      await service.ended()
      faults().rest()
      await service.checkHere()
    })
  }

  it('seals what it was sealing when it was ended', async () => {
    const filled = create()
    await filled.startHere()
    await filled.prepare()
    expect(await filled.fill(NEARLY_AN_EPOCH)).to.equal(201)
    await filled.stop()
    const order = { files: ['ledger.db'], at: Number.MAX_SAFE_INTEGER } as const
    const counting = await filled.copyTo(join(folder, 'counting'))
    faults().order({ ...order, action: 'count' })
    await counting.start()
    await counting.runRound()
    await counting.stop()
    const calls = faults().counted()
    expect(calls).to.be.greaterThan(100)
    const points = byLength(2, 12)
    for (let point = 1; point <= points; point++) {
      faults().rest()
      const service = await filled.copyTo(join(folder, `sealing-${point}`))
      const action = point % 2 === 0 ? 'kill' : 'cut power'
      faults().order({ ...order, action, at: Math.ceil((calls * point) / points) })
      await service.start()
      await service.runRound()
      await service.stop()
      say(`${action} at ${faults().last()}`)
      faults().rest()
      expect(await service.checkHere()).to.be.at.least(NEARLY_AN_EPOCH)
      await rm(join(folder, `sealing-${point}`), { recursive: true })
    }
  })
})
