// Forwards the streams that this process leases into the measurement store, and deletes the data of
// deleted users, and from the store that of deleted sensors.

import { Forwarder } from '../ingest/forwarder.ts'
import { SensorDeletions } from '../ingest/sensor-deletions.ts'
import { SECOND_MS } from '../domain/time.ts'
import type { JournalQueue } from '../ports/journal-queue.ts'
import type { Clock, Log } from '../ports/system.ts'
import { PostgresSensorDeletionJobs } from '../postgres/control/deletion-jobs.ts'
import { UserDeletions } from '../postgres/control/user-deletions.ts'
import type { Database } from '../postgres/database.ts'
import { PostgresLeases } from '../postgres/shared/leases.ts'
import { pause } from '../system/pause.ts'
import type { DatabaseStore } from './database-store.ts'

/** How long work under way may take when the service stops. */
const STOP_MS_MAX = 2 * SECOND_MS

export interface DatabaseForwarding {
  /** Whether the last write succeeded. */
  readonly isStoreWorking: boolean
  readonly failures: number
  /** A reader waits for what is in the journal now. */
  hurry(): void
  close(): Promise<void>
}

export function startDatabaseForwarder(
  of: {
    readonly database: Database
    readonly queue: JournalQueue
    readonly store: DatabaseStore
    readonly clock: Clock
    readonly log: Log
  },
  isForwarding: boolean,
): DatabaseForwarding {
  const { database, queue, store, clock, log } = of
  const state = { isStoreWorking: true, failures: 0 }
  const noteState = (isStoreWorking: boolean) => {
    state.isStoreWorking = isStoreWorking
    if (!isStoreWorking) state.failures++
  }
  const writer = store.openWriter()
  const common = { writer, pause, random: Math.random, clock, log }
  const forwarder = new Forwarder(
    { ...common, queue, noteState },
    { batchMeasurementsMax: store.batchMeasurementsMax, isStoreApart: store.isApart },
  )
  const jobs = new PostgresSensorDeletionJobs(database)
  const leases = new PostgresLeases(database)
  const lastUnknownOutcomeAtMs = () => forwarder.lastUnknownOutcomeAtMs
  const deletions = new SensorDeletions(
    { ...common, jobs, leases, lastUnknownOutcomeAtMs },
    store.deletions,
  )
  const userDeletions = new UserDeletions({ database, clock, log })
  if (isForwarding) {
    forwarder.start()
    deletions.start()
    userDeletions.start()
  }
  return {
    get isStoreWorking() {
      return state.isStoreWorking
    },
    get failures() {
      return state.failures
    },
    hurry: () => forwarder.hurry(),
    close: async () => {
      const stopped = Promise.all([forwarder.stop(), deletions.stop(), userDeletions.stop()])
      const grace = new AbortController()
      // With the database away it never ends; another process does the rest.
      await Promise.race([stopped, pause(STOP_MS_MAX, grace.signal)])
      grace.abort()
      // Aborts requests to a store that does not respond.
      await writer.close()
    },
  }
}
