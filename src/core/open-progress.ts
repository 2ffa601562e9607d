// How far the journal has been forwarded, as the main thread sees it.

import type { Clock, Log, Metrics } from '../ports/system.ts'
import type { CommitChannel } from '../sqlite/commit/commit-channel.ts'
import type { Connection } from '../sqlite/database.ts'
import { ForwardProgress } from '../sqlite/journal/forward-progress.ts'
import { JournalReader } from '../sqlite/journal/journal-reader.ts'
import { SetAside } from '../sqlite/journal/set-aside.ts'

/** @param onAwaited called when a reader waits for the measurement store */
export function openProgress(
  of: {
    readonly channel: CommitChannel
    readonly database: Connection
    readonly clock: Clock
    readonly log: Log
    readonly metrics: Metrics
  },
  onAwaited: () => void,
): ForwardProgress {
  const { channel, database, clock, log, metrics } = of
  const setAside = new SetAside(database)
  return new ForwardProgress({
    journal: new JournalReader(database),
    setAsideAmong: (sensorIds, range) => setAside.sensorsAmong(sensorIds, range),
    setAside: (refused) => channel.call('setAside', refused),
    noteForwarded: (throughSeq) => channel.noteForwarded(throughSeq),
    clock,
    log,
    metrics,
    onAwaited,
  })
}
