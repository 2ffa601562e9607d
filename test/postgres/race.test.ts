// Goal: whatever ends processes, connections and the server, every acknowledged event is stored
// once, and no answer contradicts the ledger. Method: three processes whose senders overlap; then
// answers, ledger, journal, sensors and store are compared. test/faults/postgres-race.test.ts goes
// on for longer.

import { expect } from 'chai'
import { usePostgresServer } from '../support/postgres.ts'
import { runRace } from '../support/race-run.ts'

describe('a race of processes on PostgreSQL', function () {
  this.timeout(120_000)
  const server = usePostgresServer()

  it('loses and doubles nothing', async () => {
    const { faults, answers } = await runRace(server(), { seconds: 12, stoppedMs: 2_000 })
    expect(faults).to.deep.equal([])
    expect(answers).to.be.greaterThan(0)
  })
})
