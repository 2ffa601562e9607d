// Goal and method as in test/paths/kill.test.ts, with twenty kills.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { killUnderLoad } from '../support/kill-under-load.ts'

describe('a service that is killed twenty times under load', () => {
  it('has every acknowledged measurement once and no batch in part', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'thermolog-kill-'))
    const onKill = (count: number) => process.stderr.write(`      kill ${count} of 20\n`)
    const acknowledged = await killUnderLoad({ kills: 20, loadMsMax: 3_000, dataDir, onKill })
    process.stderr.write(`      ${acknowledged} measurements were acknowledged\n`)
    expect(acknowledged).to.be.greaterThan(0)
    await rm(dataDir, { recursive: true })
  })
})
