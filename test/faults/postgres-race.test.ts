// Goal and method as in test/postgres/race.test.ts, for longer: a process is stopped until its
// leases have ended and its groups are out of time.

import { expect } from 'chai'
import { byLength } from '../support/length.ts'
import { usePostgresServer } from '../support/postgres.ts'
import { runRace } from '../support/race-run.ts'

const LENGTH = byLength({ seconds: 20, stoppedMs: 12_000 }, { seconds: 600, stoppedMs: 20_000 })

describe('a long race of processes on PostgreSQL', () => {
  const server = usePostgresServer()

  it('loses and doubles nothing', async () => {
    const { faults, ...figures } = await runRace(server(), LENGTH)
    expect(faults, JSON.stringify(figures)).to.deep.equal([])
  })
})
