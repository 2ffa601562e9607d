// Goal and method as in test/paths/backup.test.ts, with epochs sealed and journal rows deleted
// while the copies are taken.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { archivesIn, backUpUnderLoad } from '../support/backup-under-load.ts'
import { byLength } from '../support/length.ts'

const BACKUPS = byLength(2, 5)
const BETWEEN = byLength(140_000, 250_000)

describe(`${BACKUPS} backups under long load`, () => {
  it('have every measurement that was acknowledged before them, once', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'thermolog-backup-'))
    const where = { dataDir: join(folder, 'data'), means: archivesIn(folder) }
    const story = { ...where, backups: BACKUPS, measurementsBetween: BETWEEN }
    expect(await backUpUnderLoad(story)).to.be.at.least(BACKUPS * BETWEEN)
    await rm(folder, { recursive: true })
  })
})
