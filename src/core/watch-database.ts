// What a process on PostgreSQL tells of the server, of what is in the database, and of itself.

import type { Config, DatabaseConfig } from '../config.ts'
import type { Clock, Log } from '../ports/system.ts'
import { createControlReader } from '../postgres/control/control-reader.ts'
import type { Database } from '../postgres/database.ts'
import type { SeenStreams } from '../postgres/server/seen-streams.ts'
import type { PostgresForwardProgress } from '../postgres/journal/forward-progress.ts'
import type { ServerState } from '../postgres/server-check.ts'
import { PostgresServerWatch } from '../postgres/server/server-watch.ts'
import { PostgresStateFigures } from '../postgres/state-figures.ts'
import type { PrometheusMetrics } from '../system/metrics.ts'
import type { DatabaseForwarding } from './start-database-forwarder.ts'

interface Sources {
  readonly database: Database
  readonly clock: Clock
  readonly log: Log
  readonly metrics: PrometheusMetrics
  readonly progress: PostgresForwardProgress
  readonly forwarding: DatabaseForwarding
  readonly seen: SeenStreams
}

interface Settings {
  readonly config: Config & { readonly database: DatabaseConfig }
  /** Which process this is. */
  readonly process: string
  /** At the start. */
  readonly server: ServerState
  /** Commands end soon: they look at nothing. */
  readonly isLooking: boolean
}

/** Adds the metrics of the state, and begins to look, until `stop`. */
export async function watchDatabase(
  of: Sources,
  { config, process, server, isLooking }: Settings,
): Promise<{ readonly watch: PostgresServerWatch; stop(): void }> {
  const { database, metrics, progress, forwarding } = of
  const { durability } = config.database
  const identity = await createControlReader(database).readDataIdentity()
  const watch = new PostgresServerWatch(of, { process, durability, identity, server })
  const figures = new PostgresStateFigures(of, config)
  if (isLooking) {
    await watch.start()
    figures.start()
  }
  metrics.watch({
    backlog: () => progress.backlog(),
    journalBytesMax: config.journalBytesMax,
    isStoreWorking: () => forwarding.isStoreWorking,
    countForwardFailures: () => forwarding.failures,
    countSetAside: () => figures.countSetAside(),
    sensors: () => figures.sensors(),
    sensorDeletions: () => figures.sensorDeletions(),
    countSealedEvents: () => figures.events(),
    countDamaged: () => 0,
    database: () => watch.state,
  })
  const stop = () => {
    watch.stop()
    figures.stop()
  }
  return { watch, stop }
}
