// Forwards the streams that this process leases into the measurement store in the same database,
// and deletes there what is of deleted sensors.

import { Forwarder } from '../ingest/forwarder.ts'
import { SensorDeletions } from '../ingest/sensor-deletions.ts'
import { MINUTE_MS, SECOND_MS } from '../domain/time.ts'
import type { JournalQueue } from '../ports/journal-queue.ts'
import type { Clock, Log } from '../ports/system.ts'
import { PostgresSensorDeletionJobs } from '../postgres/control/deletion-jobs.ts'
import type { Database } from '../postgres/database.ts'
import { PostgresMeasurementWriter } from '../postgres/measurements/measurement-writer.ts'
import { PostgresLeases } from '../postgres/shared/leases.ts'
import { pause } from '../system/pause.ts'

/** Enough for summaries to pay: 181,000 rows a second were measured with 5,000. */
const BATCH_MEASUREMENTS_MAX = 8_000
const DELETIONS = { passesMin: 1, passGapMs: 10 * MINUTE_MS, lookEveryMs: SECOND_MS }

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
    readonly clock: Clock
    readonly log: Log
  },
  isForwarding: boolean,
): DatabaseForwarding {
  const { database, queue, clock, log } = of
  const state = { isStoreWorking: true, failures: 0 }
  const noteState = (isStoreWorking: boolean) => {
    state.isStoreWorking = isStoreWorking
    if (!isStoreWorking) state.failures++
  }
  const writer = new PostgresMeasurementWriter(database)
  const common = { writer, pause, random: Math.random, clock, log }
  const forwarder = new Forwarder(
    { ...common, queue, noteState },
    { batchMeasurementsMax: BATCH_MEASUREMENTS_MAX, isStoreApart: false },
  )
  const jobs = new PostgresSensorDeletionJobs(database)
  const leases = new PostgresLeases(database)
  const lastUnknownOutcomeAtMs = () => forwarder.lastUnknownOutcomeAtMs
  const deletions = new SensorDeletions(
    { ...common, jobs, leases, lastUnknownOutcomeAtMs },
    DELETIONS,
  )
  if (isForwarding) {
    forwarder.start()
    deletions.start()
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
      const stopped = Promise.all([forwarder.stop(), deletions.stop()])
      const grace = new AbortController()
      // With the database away it never ends; another process does the rest.
      await Promise.race([stopped, pause(STOP_MS_MAX, grace.signal)])
      grace.abort()
    },
  }
}
