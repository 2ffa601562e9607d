// Goal and method as in test/paths/backup.test.ts, with epochs sealed and journal rows deleted
// while the copies are taken.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { backUpUnderLoad } from '../support/backup-under-load.ts'

describe('five backups under long load', () => {
  it('have every measurement that was acknowledged before them, once', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'thermolog-backup-'))
    const story = { folder, backups: 5, measurementsBetween: 250_000 }
    expect(await backUpUnderLoad(story)).to.be.at.least(1_250_000)
    await rm(folder, { recursive: true })
  })
})
