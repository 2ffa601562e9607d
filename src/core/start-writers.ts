// Starts the threads that write control.db and ledger.db, with their settings.

import type { Config } from '../config.ts'
import { refusalError } from '../domain/errors.ts'
import { epochEvents, journalEntryBytes } from '../domain/limits.ts'
import { DAY_MS } from '../domain/time.ts'
import type { DiskWatch } from '../system/disk-watch.ts'
import { startWriting } from '../threads/start-threads.ts'
import type { WritingThreads } from '../threads/start-threads.ts'

/** What InfluxDB accepted in this period is written again after it restarts. */
const REPLAY_KEPT_MS = DAY_MS
const REPLAY_MEASUREMENTS_MIN = 1_000_000

/** Settings are picked one by one, so that no thread gets a secret. */
export function startWriters(
  config: Config,
  disk: DiskWatch,
  events: {
    readonly onFailure: (error: Error) => void
    readonly onDamaged: (problem: string) => void
    readonly onLoading: () => void
  },
): Promise<WritingThreads> {
  const { dataDir, mayRegisterSensors, sensorsPerUserMax, futureMsMax, measuredAtMsMin } = config
  const rules = { mayRegisterSensors, sensorsPerUserMax, futureMsMax, measuredAtMsMin }
  const settings = { dataDir, epochEvents, replayRetention: retentionOf(config), ...rules }
  const onStorageFull = () => {
    disk.noteFull()
    return refusalError('storage_full', disk.describe())
  }
  return startWriting(settings, { ...events, onStorageFull })
}

/** How long forwarded rows stay in the journal, because the store may lose them. */
function retentionOf({ influx, journalBytesMax }: Config) {
  if (influx === undefined) return undefined
  return {
    keptMs: REPLAY_KEPT_MS,
    measurementsMin: REPLAY_MEASUREMENTS_MIN,
    // The other half is for rows not yet forwarded.
    measurementsMax: Math.max(
      REPLAY_MEASUREMENTS_MIN,
      Math.floor(journalBytesMax / 2 / journalEntryBytes),
    ),
  }
}
