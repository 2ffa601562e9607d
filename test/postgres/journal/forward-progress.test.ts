// Goal: a process knows the backlog before anyone can ask for it. Method: one process accepts and
// forwards nothing; the figures of another, which has just looked.

import { expect } from 'chai'
import { PostgresForwardProgress } from '../../../src/postgres/journal/forward-progress.ts'
import { Database } from '../../../src/postgres/server/database.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { PrometheusMetrics } from '../../../src/metrics/metrics.ts'
import { accept, measurement, newUser, PERMISSIVE, submission } from '../../contract/open-data.ts'
import { RecordingLog } from '../../support/log.ts'
import { openProcess } from '../../support/postgres-process.ts'
import { newMigratedDatabase, usePostgres } from '../../support/postgres.ts'

describe('the backlog of a database', () => {
  const postgres = usePostgres()

  it('is known after the first look', async () => {
    const { url, remove } = await newMigratedDatabase(postgres())
    const other = await openProcess(url, PERMISSIVE)
    await accept(other, submission(await newUser(other), measurement()))
    const database = new Database(url, 1)
    const of = { clock: systemClock, log: new RecordingLog(), metrics: new PrometheusMetrics() }
    const progress = new PostgresForwardProgress({ ...of, database, onAwaited: () => undefined })
    await progress.look()
    expect(progress.backlog().entries).to.equal(1)
    progress.close()
    await database.close()
    await other.close()
    await remove()
  })
})
