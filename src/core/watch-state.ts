// What metrics read from the parts and the stored data at each scrape.

import { join } from 'node:path'
import type { Clock, Log } from '../ports/system.ts'
import type { Connection } from '../sqlite/database.ts'
import { LEDGER_FILE, openForReading } from '../sqlite/database.ts'
import { StateFigures } from '../sqlite/state-figures.ts'
import { logMemory, memoryLimit } from '../system/memory.ts'
import type { PrometheusMetrics } from '../system/metrics.ts'
import type { WatchedState } from '../system/state-gauges.ts'

/** What the parts report themselves. */
type StateOfParts = Omit<WatchedState, 'sensors' | 'sensorDeletions' | 'countSealedEvents'>

/**
 * Registers what metrics read at each scrape, and logs what the ledger needs of the memory.
 *
 * @returns a function that ends this
 */
export function watchState(
  metrics: PrometheusMetrics,
  parts: StateOfParts,
  { database, clock, log }: { readonly database: Connection; clock: Clock; log: Log },
  settings: { readonly dataDir: string; readonly offlineAfterMs: number },
): () => void {
  const ledger = openForReading(join(settings.dataDir, LEDGER_FILE))
  const figures = new StateFigures(database, ledger)
  metrics.watch({
    ...parts,
    sensors: () => figures.sensors(clock.nowMs() - settings.offlineAfterMs),
    sensorDeletions: () => figures.sensorDeletions(clock.nowMs()),
    countSealedEvents: () => figures.sealedEvents(),
  })
  logMemory(log, figures.sealedEvents(), memoryLimit())
  return () => void ledger.close()
}
