// Goal: a process knows the backlog before anyone can ask for it. Method: one process accepts and
// forwards nothing; the figures of another, which has just looked.

import { expect } from 'chai'
import { PostgresForwardProgress } from '../../../src/postgres/journal/forward-progress.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { PrometheusMetrics } from '../../../src/metrics/metrics.ts'
import { accept, measurement, newUser, PERMISSIVE, submission } from '../../contract/open-data.ts'
import { RecordingLog } from '../../support/log.ts'
import { closeServers, openProcess, openServers } from '../../support/postgres-process.ts'
import { newMigratedDatabase } from '../../support/postgres.ts'
import type { UseServer } from '../../support/postgres.ts'

/** @param use what it runs on */
export function forwardProgressSuite(use: UseServer): void {
  const postgres = use()

  it('is known after the first look', async () => {
    const { url, remove } = await newMigratedDatabase(postgres())
    const other = await openProcess(url, PERMISSIVE)
    await accept(other, submission(await newUser(other), measurement()))
    const servers = await openServers(url)
    const of = { clock: systemClock, log: new RecordingLog(), metrics: new PrometheusMetrics() }
    const progress = new PostgresForwardProgress({ ...of, servers, onAwaited: () => undefined })
    await progress.look()
    expect(progress.backlog().entries).to.equal(1)
    progress.close()
    await closeServers(servers)
    await other.close()
    await remove()
  })
}
