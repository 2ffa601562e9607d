// The measurement store of processes on PostgreSQL: tables in the same database, or InfluxDB. Each
// process forwards the journal streams that it has leased.

import type { InfluxConfig } from '../config.ts'
import { Forwarding } from '../ingest/forwarding.ts'
import type { JournalQueue } from '../ports/journal-queue.ts'
import type { MeasurementReader, MeasurementWriter } from '../ports/measurement-store.ts'
import type { Clock, Log } from '../ports/system.ts'
import { createDeletionJobs } from '../postgres/control/deletion-jobs.ts'
import { UserDeletions } from '../postgres/control/user-deletions.ts'
import type { ShardServer, ShardServers } from '../postgres/server/shard-servers.ts'
import { PostgresMeasurementReader } from '../postgres/measurements/measurement-reader.ts'
import { PostgresMeasurementWriter } from '../postgres/measurements/measurement-writer.ts'
import { PostgresLeases } from '../postgres/shared/leases.ts'
import { pause } from '../system/pause.ts'
import { openInfluxWriter } from '../influx/open-writer.ts'
import { openInfluxReader } from './influx-store.ts'

interface System {
  readonly servers: ShardServers
  readonly clock: Clock
  readonly log: Log
}

export interface DatabaseStore {
  readonly reader: MeasurementReader
  readonly openWriter: (server: ShardServer) => MeasurementWriter
  /** Whether it is another server, which may lose what it has just taken. */
  readonly isStoreApart: boolean
  readonly batchMeasurementsMax: number
}

export function databaseStore(influx: InfluxConfig | undefined, of: System): DatabaseStore {
  if (influx === undefined) {
    return {
      reader: new PostgresMeasurementReader(of.servers),
      openWriter: ({ database }) => new PostgresMeasurementWriter(database),
      isStoreApart: false,
      // Enough for summaries to pay off: 181,000 rows a second, measured with batches of 5,000.
      batchMeasurementsMax: 8_000,
    }
  }
  return {
    reader: openInfluxReader(influx),
    openWriter: () => openInfluxWriter(influx, of),
    isStoreApart: true,
    // Three requests, which are prepared between two submissions.
    batchMeasurementsMax: 15_000,
  }
}

interface OfServer {
  readonly server: ShardServer
  readonly queue: JournalQueue
  readonly noteState: (isWorking: boolean) => void
}

/**
 * Forwards the measurements of a server's shards, and deletes the data of deleted users: each
 * server's apart, so that none waits for another one.
 */
export function databaseForwarding(of: System & OfServer, store: DatabaseStore): Forwarding {
  const { servers, server } = of
  const collaborators = {
    ...of,
    jobs: createDeletionJobs(server),
    leases: new PostgresLeases(servers.main, server.shards),
    writer: store.openWriter(server),
    pause,
  }
  return new Forwarding(collaborators, store, [new UserDeletions(of)])
}
