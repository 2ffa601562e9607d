// Starts the thread that forwards the journal, and handles its messages.

import { logForm } from '../config.ts'
import type { Config } from '../config.ts'
import { ServiceError } from '../domain/errors.ts'
import type { CommitChannel } from '../sqlite/commit/commit-channel.ts'
import type { DeletionPass } from '../sqlite/control/sensor-deletion-jobs.ts'
import type { ForwardProgress } from '../sqlite/journal/forward-progress.ts'
import type { PrometheusMetrics } from '../system/metrics.ts'
import type { ForwardChannel } from '../threads/forward-channel.ts'
import { startForwarding } from '../threads/start-threads.ts'

/** Settings are picked one by one, as for the threads that write. */
export function startForwarder(
  { dataDir, logLevel, influx }: Config,
  told: {
    readonly channel: CommitChannel
    readonly progress: ForwardProgress
    readonly metrics: PrometheusMetrics
    readonly onFailure: (error: Error) => void
  },
): Promise<ForwardChannel> {
  const { channel, progress, metrics, onFailure } = told
  return startForwarding(
    { dataDir, logLevel, logForm: logForm(1), influx },
    {
      onReadable: (readable) => void progress.noteReadable(readable),
      onForwarded: (forwarded) => {
        metrics.noteForwardDuration(forwarded.durationMs)
        void progress.noteForwarded(forwarded)
      },
      onDeletionPass: (pass) => void noteDeletionPass(channel, pass).catch(onFailure),
      onFailure,
    },
  )
}

/** What a full disk keeps from being recorded stays due, and is done again. */
async function noteDeletionPass(
  channel: CommitChannel,
  { sensorId, dueAtMs }: DeletionPass,
): Promise<void> {
  try {
    await channel.call('noteDeletionPass', sensorId, dueAtMs)
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'storage_full') throw error
  }
}
