// What metrics ask of the parts when they are read.

import { join } from 'node:path'
import type { Clock } from '../ports/system.ts'
import type { SqliteControlReader } from '../sqlite/control/control-reader.ts'
import type { Connection } from '../sqlite/database.ts'
import { LEDGER_FILE, openForReading } from '../sqlite/database.ts'
import type { ForwardProgress } from '../sqlite/journal/forward-progress.ts'
import { StateFigures } from '../sqlite/state-figures.ts'
import type { DiskWatch } from '../system/disk-watch.ts'
import type { PrometheusMetrics } from '../system/metrics.ts'
import type { ForwardChannel } from '../threads/forward-channel.ts'

/** Tells metrics what to ask when they are read. @returns what ends that */
export function watchState(
  metrics: PrometheusMetrics,
  watched: {
    readonly progress: ForwardProgress
    readonly forwarding: ForwardChannel
    readonly control: SqliteControlReader
    readonly database: Connection
    readonly disk: DiskWatch
    readonly clock: Clock
  },
  settings: {
    readonly dataDir: string
    readonly journalBytesMax: number
    readonly offlineAfterMs: number
  },
): () => void {
  const { progress, forwarding, control, database, disk, clock } = watched
  const ledger = openForReading(join(settings.dataDir, LEDGER_FILE))
  const figures = new StateFigures(database, ledger)
  metrics.watch({
    backlog: () => progress.backlog(),
    journalBytesMax: settings.journalBytesMax,
    isStoreWorking: () => forwarding.isStoreWorking,
    countForwardFailures: () => forwarding.failures,
    countSetAside: () => control.countSetAside(),
    sensors: () => figures.sensors(clock.nowMs() - settings.offlineAfterMs),
    sensorDeletions: () => figures.sensorDeletions(clock.nowMs()),
    countSealedEvents: () => figures.sealedEvents(),
    disk: () => disk.room,
  })
  return () => void ledger.close()
}
