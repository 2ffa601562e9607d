// Goal: a service that is killed under load keeps its promises. Method: the story of
// support/kill-under-load.ts, short; test/faults has it long.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { killUnderLoad } from '../support/kill-under-load.ts'
import { expectClean } from '../support/verify.ts'

describe('a service that is killed under load', () => {
  let dataDir: string
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'thermolog-kill-'))
  })
  afterEach(() => rm(dataDir, { recursive: true }))

  it('has every acknowledged measurement once and no batch in part', async () => {
    const acknowledged = await killUnderLoad({ kills: 2, loadMsMax: 1_000, dataDir })
    expect(acknowledged).to.be.greaterThan(0)
    expect(await expectClean(dataDir)).to.be.at.least(acknowledged)
  })
})
