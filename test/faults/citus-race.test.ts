// Goal: whatever ends processes, connections and nodes, every acknowledged event is stored once.
// Method: the race of PostgreSQL on a coordinator and two workers, which are killed in turn.

import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { useCitusCluster } from '../support/citus.ts'
import { byLength } from '../support/length.ts'
import type { PostgresServer } from '../support/postgres-server.ts'
import { newDatabase } from '../support/postgres.ts'
import { runRace } from '../support/race-run.ts'

const LENGTH = byLength({ seconds: 45, stoppedMs: 12_000 }, { seconds: 600, stoppedMs: 20_000 })
/** Senders and forwarders meet a node that is away, not only one that has just come back. */
const AWAY_MS = 3_000

describe('a race of processes on Citus', () => {
  const citus = useCitusCluster()

  const crash = async (node: PostgresServer | undefined) => {
    await node?.kill()
    await pause(AWAY_MS)
    await node?.restart()
  }

  it('loses and doubles nothing', async () => {
    const { url } = await newDatabase(citus())
    const { coordinator, workers } = citus()
    const crashes = [...workers, coordinator].map((node) => () => crash(node))
    const { faults, ...figures } = await runRace({ url, crashes }, LENGTH)
    expect(faults, JSON.stringify(figures)).to.deep.equal([])
    expect(figures.answers).to.be.greaterThan(0)
  })
})
