// Goal: nothing is acknowledged that a power cut, or the loss of a machine, may take back.

import { expect } from 'chai'
import { connectAlone } from '../../src/postgres/server/connection.ts'
import {
  durabilityFault,
  isSameDurability,
  READ_DURABILITY,
} from '../../src/postgres/server/durability.ts'
import type { DurabilityRow } from '../../src/postgres/server/durability.ts'
import { runOnce, usePostgresServer } from '../support/postgres.ts'
import { until } from '../support/until.ts'

describe('the durability of PostgreSQL', () => {
  const server = usePostgresServer()

  const read = async (): Promise<DurabilityRow> => {
    const client = await connectAlone(server().url(), false)
    const { rows } = await client.query<DurabilityRow>(READ_DURABILITY)
    await client.end()
    if (rows[0] === undefined) throw new Error('there is no answer')
    return rows[0]
  }

  it('is what a server has unless it was told otherwise', async () => {
    const row = await read()
    expect(durabilityFault(row, 'local')).to.equal(undefined)
    expect(row.timeline).to.match(/^[0-9A-F]{8}$/)
    expect(row.systemIdentifier).to.match(/^\d+$/)
  })

  it('is not there without fsync, and not replicated without a synchronous standby', async () => {
    const row = await read()
    expect(durabilityFault({ ...row, fsync: 'off' }, 'local')).to.contain('fsync=on')
    expect(durabilityFault({ ...row, fullPageWrites: 'off' }, 'local')).to.contain(
      'full_page_writes',
    )
    expect(durabilityFault({ ...row, synchronousCommit: 'off' }, 'local')).to.contain('=on')
    expect(durabilityFault({ ...row, isStandby: true }, 'local')).to.contain('primary')
    expect(durabilityFault(row, 'replicated')).to.contain('synchronous_standby_names')
    const named = { ...row, standbyNames: 'ANY 1 (b)' }
    expect(durabilityFault(named, 'replicated')).to.equal(undefined)
    const early = { ...named, synchronousCommit: 'remote_write' }
    expect(durabilityFault(early, 'replicated')).to.contain('remote_apply')
  })

  it('is another one when a setting changes while the server runs', async () => {
    const before = await read()
    expect(isSameDurability(before, await read())).to.equal(true)
    await runOnce(server().url(), `ALTER SYSTEM SET synchronous_commit = 'off'`)
    await runOnce(server().url(), 'SELECT pg_reload_conf()')
    let after = before
    await until('the setting has changed', async () => {
      after = await read()
      return !isSameDurability(before, after)
    })
    expect(durabilityFault(after, 'local')).to.contain('synchronous_commit=on')
  })
})
