// The measurement store of processes on PostgreSQL: tables in the same database, or InfluxDB. Each
// process forwards the journal streams that it has leased.

import type { InfluxConfig } from '../config.ts'
import { Forwarding } from '../ingest/forwarding.ts'
import type { StoreState } from '../ingest/forwarding.ts'
import type { JournalQueue } from '../ports/journal-queue.ts'
import type { MeasurementReader, MeasurementWriter } from '../ports/measurement-store.ts'
import type { Clock, Log } from '../ports/system.ts'
import { createDeletionJobs } from '../postgres/control/deletion-jobs.ts'
import { UserDeletions } from '../postgres/control/user-deletions.ts'
import type { Database } from '../postgres/server/database.ts'
import { PostgresMeasurementReader } from '../postgres/measurements/measurement-reader.ts'
import { PostgresMeasurementWriter } from '../postgres/measurements/measurement-writer.ts'
import { PostgresLeases } from '../postgres/shared/leases.ts'
import { pause } from '../system/pause.ts'
import { openInfluxWriter } from '../influx/open-writer.ts'
import { openInfluxReader } from './measurement-store.ts'

interface System {
  readonly database: Database
  readonly clock: Clock
  readonly log: Log
}

export interface DatabaseStore {
  readonly reader: MeasurementReader
  readonly writer: MeasurementWriter
  /** Whether it is another server, which may lose what it has just taken. */
  readonly isStoreApart: boolean
  readonly batchMeasurementsMax: number
}

export function databaseStore(influx: InfluxConfig | undefined, of: System): DatabaseStore {
  if (influx === undefined) {
    return {
      reader: new PostgresMeasurementReader(of.database),
      writer: new PostgresMeasurementWriter(of.database),
      isStoreApart: false,
      // Enough for summaries to pay off: 181,000 rows a second, measured with batches of 5,000.
      batchMeasurementsMax: 8_000,
    }
  }
  return {
    reader: openInfluxReader(influx),
    writer: openInfluxWriter(influx, of),
    isStoreApart: true,
    // Three requests, which are prepared between two submissions.
    batchMeasurementsMax: 15_000,
  }
}

/** Forwards measurements, and deletes the data of deleted users. */
export function databaseForwarding(
  of: System & { readonly queue: JournalQueue },
  store: DatabaseStore,
  state: StoreState,
): Forwarding {
  const { database } = of
  const collaborators = {
    ...of,
    jobs: createDeletionJobs(database),
    leases: new PostgresLeases(database),
    writer: store.writer,
    noteState: (isWorking: boolean) => state.note(isWorking),
    pause,
  }
  return new Forwarding(collaborators, store, [new UserDeletions(of)])
}
