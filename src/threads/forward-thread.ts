// The forward thread: writes the journal to the measurement store and deletes the measurements of
// deleted sensors from it, at its own pace and apart from requests.

import { setPriority } from 'node:os'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import { storeWriteMeasurementsMax } from '../domain/limits.ts'
import { Forwarding } from '../ingest/forwarding.ts'
import { MemoryLeases } from '../memory/leases.ts'
import { createDeletionJobs } from '../sqlite/control/sensor-deletion-jobs.ts'
import { CONTROL_FILE, MEASUREMENTS_FILE, openForReading } from '../sqlite/database.ts'
import { SqliteJournalQueue } from '../sqlite/journal/journal-queue.ts'
import { SqliteMeasurementWriter } from '../sqlite/measurements/measurement-writer.ts'
import { BelievedClock } from '../system/believed-clock.ts'
import { systemClock } from '../system/clock.ts'
import { pause } from '../system/pause.ts'
import { createLog, standardOutput } from '../system/log.ts'
import type { InfluxTarget } from '../influx/connection.ts'
import type { MeasurementWriter } from '../ports/measurement-store.ts'
import type { Clock, Log } from '../ports/system.ts'
import type { ForwardAnswer, ForwardRequest, ForwardThreadData } from './messages.ts'

/**
 * Measurements per write. For the embedded store: enough for summaries to pay, and few enough to
 * become readable soon. For InfluxDB: several requests, which keep it busy.
 */
const BATCH_MEASUREMENTS_MAX = { embedded: storeWriteMeasurementsMax, influx: 64_000 }

/** Of 19: forwarding still gets some time when both cores are busy. */
const NICENESS_BEHIND_ACKNOWLEDGING = 15

export async function run(data: ForwardThreadData, port: MessagePort): Promise<void> {
  const { dataDir, logLevel, logForm, influx, isIdle } = data
  const component = 'forwarder'
  const log = createLog(systemClock, { level: logLevel, component, form: logForm }, standardOutput)
  const clock = new BelievedClock(systemClock)
  const endWatch = clock.watch()
  // Linux sets the priority of this thread, other systems that of the whole process.
  const isAlone = process.platform === 'linux' && !isMainThread
  if (influx !== undefined && isAlone) letAcknowledgingGoFirst(log)
  const answer = (message: ForwardAnswer) => port.postMessage(message)
  const control = openForReading(dataDir, CONTROL_FILE)
  const queue = new SqliteJournalQueue({ control, tell: answer, isIdle })
  const forwarding = new Forwarding(
    {
      queue,
      jobs: createDeletionJobs({ control, settledSeq: () => queue.settledSeq, tell: answer }),
      leases: new MemoryLeases(clock).of('service'),
      writer:
        influx === undefined
          ? new SqliteMeasurementWriter(join(dataDir, MEASUREMENTS_FILE))
          : await openInflux(influx, { clock, log }),
      noteState: (isStoreWorking) => answer({ isStoreWorking }),
      pause,
      clock,
      log,
    },
    {
      batchMeasurementsMax: BATCH_MEASUREMENTS_MAX[influx === undefined ? 'embedded' : 'influx'],
      isStoreApart: influx !== undefined,
    },
  )
  const close = async () => {
    await forwarding.close()
    await forwarding.stop()
    endWatch()
    control.close()
    port.close()
  }

  port.on('message', (request: ForwardRequest) => {
    if ('committed' in request) queue.notify()
    else if ('wanted' in request) forwarding.hurry()
    else void close()
  })
  forwarding.start()
  answer({ started: true })
}

/** InfluxDB's client is loaded only when needed. */
async function openInflux(
  target: InfluxTarget,
  of: { readonly clock: Clock; readonly log: Log },
): Promise<MeasurementWriter> {
  const { openInfluxWriter } = await import('../influx/open-writer.ts')
  return openInfluxWriter(target, of)
}

/** The journal can wait for an external store, which costs more than everything else. */
function letAcknowledgingGoFirst(log: Log): void {
  try {
    setPriority(NICENESS_BEHIND_ACKNOWLEDGING)
  } catch (error) {
    const hint = 'under systemd: SystemCallFilter=setpriority in a drop-in'
    log.info('writing to InfluxDB gets as much time as acknowledging', {
      error: (error as Error).message,
      hint,
    })
  }
}
