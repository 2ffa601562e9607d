// Goal and method as in test/paths/kill.test.ts, with more kills.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { killUnderLoad } from '../support/kill-under-load.ts'
import { byLength } from '../support/length.ts'
import { expectClean } from '../support/verify.ts'

const KILLS = byLength(3, 20)

describe(`a service that is killed ${KILLS} times under load`, () => {
  it('has every acknowledged measurement once and no batch in part', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'thermolog-kill-'))
    const onKill = (count: number) => process.stderr.write(`      kill ${count} of ${KILLS}\n`)
    const acknowledged = await killUnderLoad({
      kills: KILLS,
      loadMsMax: byLength(1_200, 3_000),
      dataDir,
      onKill,
    })
    process.stderr.write(`      ${acknowledged} measurements were acknowledged\n`)
    expect(acknowledged).to.be.greaterThan(0)
    expect(await expectClean(dataDir)).to.be.at.least(acknowledged)
    await rm(dataDir, { recursive: true })
  })
})
