// Goal: everything of a data directory is in a database on Citus after a move. Method: the real
// command; what is exported before and after is compared, and verify looks at all nodes.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { useCitus } from '../support/citus.ts'
import { runCommand, serving } from '../support/command.ts'
import type { Environment } from '../support/command.ts'
import { expectedLines, readings, sendReadings } from '../support/exported.ts'
import { createFleetToken } from '../support/fleet-token.ts'
import { sendBatch } from '../support/http.ts'
import { newDatabase } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'
import { expectClean } from '../support/verify.ts'

const ANA = 'ana@example.org'

describe('thermolog move to Citus', () => {
  let dataDir: string
  let database: TestDatabase

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'thermolog-move-'))
  })
  const citus = useCitus()
  before(async () => {
    database = await newDatabase(citus())
  })
  after(async () => {
    await rm(dataDir, { recursive: true })
    await database?.remove()
  })

  const exportOf = async (environment: Environment = {}) => {
    const { exitCode, stdout, stderr } = await runCommand(
      dataDir,
      ['export', '--user', ANA],
      environment,
    )
    expect(exitCode, stderr).to.equal(0)
    return stdout
  }

  it('takes everything along, once', async () => {
    const settings = { DATABASE_URL: database.url }
    const token = await createFleetToken(dataDir, ANA)
    await serving(dataDir, {}, (url) => sendReadings(url, token))
    const exported = await exportOf()
    expect(exported.trim().split('\r\n')).to.include.members(expectedLines())
    const moved = await runCommand(dataDir, ['move', '--to', database.url])
    expect(moved.exitCode, moved.stderr).to.equal(0)
    expect(await exportOf(settings)).to.equal(exported)
    expect(await expectClean('nowhere', settings)).to.equal(expectedLines().length)
    await serving('nowhere', settings, async (url) => {
      const sent = readings().slice(0, 100)
      const { body } = await sendBatch(url, token, sent)
      expect(body.data).to.include({ created: 0, duplicates: sent.length, conflicts: 0 })
    })
  })
})
