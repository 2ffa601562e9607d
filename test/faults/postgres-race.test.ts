// Goal: whatever ends processes, connections and the server, every acknowledged event is stored
// once, and no answer contradicts the ledger. Method: three processes whose senders overlap, one
// of which is stopped until its leases have ended and its groups are out of time; then answers,
// ledger, journal, sensors and store are compared.

import { expect } from 'chai'
import { byLength } from '../support/length.ts'
import { usePostgresServer } from '../support/postgres.ts'
import { runRace } from '../support/race-run.ts'

const LENGTH = byLength({ seconds: 20, stoppedMs: 12_000 }, { seconds: 600, stoppedMs: 20_000 })

describe('a race of processes on PostgreSQL', () => {
  const server = usePostgresServer()

  it('loses and doubles nothing', async () => {
    const { faults, ...figures } = await runRace(server(), LENGTH)
    expect(faults, JSON.stringify(figures)).to.deep.equal([])
    expect(figures.answers).to.be.greaterThan(0)
  })
})
