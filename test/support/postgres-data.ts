// The journal and the control data on PostgreSQL, as one process has them.

import type { AcceptanceRules } from '../../src/domain/acceptance.ts'
import { PostgresControlReader } from '../../src/postgres/control/control-reader.ts'
import { createControlWriter } from '../../src/postgres/control/control-writer.ts'
import { PostgresSensorDeletionJobs } from '../../src/postgres/control/deletion-jobs.ts'
import { createStoreUpkeep, PostgresStoreRecords } from '../../src/postgres/control/store-upkeep.ts'
import { Database } from '../../src/postgres/database.ts'
import { PostgresForwardProgress } from '../../src/postgres/journal/forward-progress.ts'
import { PostgresJournalQueue } from '../../src/postgres/journal/journal-queue.ts'
import { migrate } from '../../src/postgres/migrate.ts'
import { PostgresSubmissionCommitter } from '../../src/postgres/stream/submission-committer.ts'
import { systemClock as clock } from '../../src/system/clock.ts'
import { PrometheusMetrics } from '../../src/system/metrics.ts'
import type { NewData, OpenData } from '../contract/open-data.ts'
import { RecordingLog } from './log.ts'
import { newDatabase } from './postgres.ts'
import type { TestPostgres } from './postgres.ts'

/** @param postgres where it is; asked in tests and hooks */
export function newPostgresData(postgres: () => TestPostgres): NewData {
  return async (rules) => {
    const { url, remove } = await newDatabase(postgres())
    await migrate(url)
    return { open: async () => openProcess(url, rules), remove }
  }
}

let processes = 0

/** Opens the data as another process. */
export function openProcess(databaseUrl: string, rules: AcceptanceRules): OpenData {
  const owner = `process ${++processes}`
  const database = new Database(databaseUrl, 4)
  const [log, metrics] = [new RecordingLog(), new PrometheusMetrics()]
  const onAwaited = () => undefined
  const progress = new PostgresForwardProgress({ database, clock, log, metrics, onAwaited })
  const collaborators = { database, progress, clock, log }
  const queue = new PostgresJournalQueue(collaborators, { owner, keptMs: 0 })
  const onJournalled = () => queue.notify()
  const committer = new PostgresSubmissionCommitter(
    { databaseUrl, owner, lanes: 2, durability: 'local', clock, rules },
    onJournalled,
  )
  return {
    committer,
    queue,
    jobs: new PostgresSensorDeletionJobs(database),
    barrier: progress,
    figures: progress,
    control: new PostgresControlReader(database),
    controlWriter: createControlWriter({ database, clock }, rules, onJournalled),
    store: new PostgresStoreRecords(database),
    storeUpkeep: createStoreUpkeep(database, clock, onJournalled),
    close: async () => {
      await committer.close()
      await queue.close()
      progress.close()
      await database.close()
    },
  }
}
