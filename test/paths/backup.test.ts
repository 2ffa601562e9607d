// Goal: a backup that is taken under load brings back all that was acknowledged before it began,
// once. Method: the story of support/backup-under-load.ts, short; test/faults has it long enough
// for the ledger to be sealed and journal rows to be deleted between the copies.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { archivesIn, backUpUnderLoad } from '../support/backup-under-load.ts'

describe('a backup under load', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-backup-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  it('has all that was acknowledged before it, once, and no batch in part', async () => {
    const where = { dataDir: join(folder, 'data'), means: archivesIn(folder) }
    const story = { ...where, backups: 1, measurementsBetween: 20_000 }
    expect(await backUpUnderLoad(story)).to.be.at.least(20_000)
  })
})
