// One process on PostgreSQL: the journal and the control data as it has them.

import type { AcceptanceRules } from '../../src/domain/acceptance.ts'
import { DamageList } from '../../src/ingest/damage-list.ts'
import { Submissions } from '../../src/ingest/submissions.ts'
import { createControlReader } from '../../src/postgres/control/control-reader.ts'
import { createControlWriter } from '../../src/postgres/control/control-writer.ts'
import { createDeletionJobs } from '../../src/postgres/control/deletion-jobs.ts'
import { Database } from '../../src/postgres/server/database.ts'
import { PostgresForwardProgress } from '../../src/postgres/journal/forward-progress.ts'
import { PostgresJournalQueue } from '../../src/postgres/journal/journal-queue.ts'
import { PostgresLeases } from '../../src/postgres/shared/leases.ts'
import { PostgresSubmissionCommitter } from '../../src/postgres/stream/submission-committer.ts'
import { createAccounts } from '../../src/postgres/verify/accounts.ts'
import { systemClock as clock } from '../../src/system/clock.ts'
import { BELIEVED } from './clock.ts'
import { PrometheusMetrics } from '../../src/metrics/metrics.ts'
import type { OpenData } from '../contract/open-data.ts'
import { ask, newGuard } from './lanes.ts'
import { RecordingLog } from './log.ts'

const CONNECTIONS_MAX = 4

let processes = 0

/** Submissions over the data of a process, as the service makes them. */
export function submissionsOver({ committer, figures: progress }: OpenData): Submissions {
  const storage = { isLow: false, describe: () => ({ detail: '', hint: '' }) }
  const metrics = new PrometheusMetrics()
  return new Submissions(
    {
      committer,
      progress,
      clock,
      clockWatch: BELIEVED,
      metrics,
      storage,
      damaged: new DamageList(),
    },
    { journalBytesMax: Infinity, isStoreEmbedded: false },
  )
}

/** A process, with its connections. */
export interface OpenProcess extends OpenData {
  readonly database: Database
}

/** From now on no process prunes the journal. */
export async function keepJournal(databaseUrl: string): Promise<void> {
  await ask(databaseUrl, "INSERT INTO leases VALUES ('journal pruning', 'nobody', 'infinity')")
}

/** Opens the data as another process. */
export async function openProcess(
  databaseUrl: string,
  rules: AcceptanceRules,
): Promise<OpenProcess> {
  const owner = `process ${process.pid}.${++processes}`
  const guard = newGuard()
  const database = new Database(databaseUrl, CONNECTIONS_MAX, { guard })
  const [log, metrics] = [new RecordingLog(), new PrometheusMetrics()]
  const onAwaited = () => undefined
  const progress = new PostgresForwardProgress({ database, clock, log, metrics, onAwaited })
  const leases = new PostgresLeases(database)
  const queue = new PostgresJournalQueue({ database, leases, progress, clock, log }, owner)
  const onJournalled = () => queue.notify()
  const lanes = { databaseUrl, ...guard, owner, durability: 'local', rules, lanes: 2 } as const
  const committer = new PostgresSubmissionCommitter(lanes, onJournalled)
  const writer = createControlWriter({ database, clock }, rules, onJournalled)
  return {
    database,
    committer,
    queue,
    jobs: createDeletionJobs(database),
    barrier: progress,
    figures: progress,
    control: createControlReader(database),
    controlWriter: writer,
    storeUpkeep: writer,
    accounts: createAccounts(database),
    close: async () => {
      await committer.close()
      await queue.close()
      progress.close()
      await database.close()
    },
  }
}
