// What a process on PostgreSQL forwards: the journal streams that it has leased, into tables of the
// same database. It deletes there what is deleted, too.

import { Forwarding } from '../ingest/forwarding.ts'
import type { Clock, Log } from '../ports/system.ts'
import { createDeletionJobs } from '../postgres/control/deletion-jobs.ts'
import { UserDeletions } from '../postgres/control/user-deletions.ts'
import type { PostgresForwardProgress } from '../postgres/journal/forward-progress.ts'
import { PostgresJournalQueue } from '../postgres/journal/journal-queue.ts'
import { PostgresMeasurementWriter } from '../postgres/measurements/measurement-writer.ts'
import { unlessAway } from '../postgres/server/database.ts'
import type { Database } from '../postgres/server/database.ts'
import { PostgresLeases } from '../postgres/shared/leases.ts'
import { pause } from '../system/pause.ts'

interface Collaborators {
  readonly database: Database
  readonly progress: PostgresForwardProgress
  readonly noteState: (isStoreWorking: boolean) => void
  readonly clock: Clock
  readonly log: Log
}

/** Enough for summaries to pay off: 181,000 rows a second, measured with batches of 5,000. */
const FORWARDING = { batchMeasurementsMax: 8_000, isStoreApart: false }

/** @param owner names this process */
export function startForwarding(of: Collaborators, owner: string) {
  const { database } = of
  const leases = new PostgresLeases(database)
  const queue = new PostgresJournalQueue({ ...of, leases }, owner)
  const collaborators = {
    ...of,
    queue,
    jobs: createDeletionJobs(database),
    leases,
    writer: new PostgresMeasurementWriter(database),
    pause,
  }
  const forwarding = new Forwarding(collaborators, FORWARDING, [new UserDeletions(of)])
  forwarding.start()
  return {
    /** This process has committed rows. */
    notify: () => queue.notify(),
    /** A reader waits for what is in the journal now. */
    hurry: () => forwarding.hurry(),
    /** Gives up the leases, too. */
    close: async () => {
      await forwarding.close()
      await unlessAway(() => queue.close(), undefined)
    },
  }
}
