// What the service shares with commands that work without it: DATA_DIR with its lock, the threads
// that write, the readers, and the measurement store in the settings.

import { join } from 'node:path'
import type { Config } from '../config.ts'
import { DamageList } from '../domain/damage-list.ts'
import { describeFinding, RESTORE_BACKUP } from '../domain/finding.ts'
import { Submissions } from '../ingest/submissions.ts'
import type { ControlReader, DataIdentity } from '../ports/control-reader.ts'
import type { ControlWriter } from '../ports/control-writer.ts'
import type { QueueFigures, ReadBarrier } from '../ports/journal-queue.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'
import type { RateCounters } from '../ports/rate-counters.ts'
import type { SignInCodes } from '../ports/sign-in-codes.ts'
import type { StoreUpkeep } from '../ports/store-upkeep.ts'
import type { Clock, DatabaseWatch, Log, Metrics, MetricsSource } from '../ports/system.ts'
import { createControlReader } from '../sqlite/control/control-reader.ts'
import { createControlWriter, createStoreUpkeep } from '../sqlite/control/control-writer.ts'
import { DamagedData } from '../sqlite/damaged-data.ts'
import { CONTROL_FILE, openForReading } from '../sqlite/database.ts'
import { SqliteSubmissionCommitter } from '../sqlite/commit/group-committer.ts'
import { forgetOtherLogs } from '../sqlite/log/witness.ts'
import { FilesAtRest } from '../sqlite/verify/files-at-rest.ts'
import { PrometheusMetrics } from '../system/metrics.ts'
import { checkBucket } from './check-bucket.ts'
import { keepWitness } from './keep-witness.ts'
import { adoptStore, openReader } from './measurement-store.ts'
import { openProgress } from './open-progress.ts'
import { ownDataDir, saidWithRoom } from './own-data-dir.ts'
import { startForwarder } from './start-forwarder.ts'
import { startWriters } from './start-writers.ts'
import { watchState } from './watch-state.ts'

export interface Core {
  readonly submissions: Submissions
  readonly damaged: DamageList
  readonly progress: ReadBarrier & QueueFigures
  readonly control: ControlReader
  readonly controlWriter: ControlWriter
  readonly storeUpkeep: StoreUpkeep
  readonly reader: MeasurementReader
  /** Whether the last write to the measurement store succeeded. */
  readonly isStoreWorking: () => boolean
  readonly metrics: Metrics & MetricsSource
  /** `embedded`, or which InfluxDB. */
  readonly storeName: string
  /** What several processes share; `undefined`: this one is alone. */
  readonly shared?: SharedState
  close(): Promise<void>
}

export interface SharedState {
  readonly rateCounters: RateCounters
  readonly codes: SignInCodes
  /** As it is now: a restore changes it while processes run. */
  readonly dataIdentity: DataIdentity
  readonly database?: DatabaseWatch
}

/**
 * Opens DATA_DIR for this process alone.
 *
 * @throws UnfitSettings @throws UnfitDataDir
 */
export async function openCore(config: Config, system: { clock: Clock; log: Log }): Promise<Core> {
  const closers: (() => void | Promise<void>)[] = []
  const close = async () => {
    for (const closeOne of closers.splice(0).toReversed()) await closeOne()
  }
  try {
    const core = await openParts(config, system, closers)
    return { ...core, close }
  } catch (error) {
    await close()
    throw await saidWithRoom(error, config.dataDir)
  }
}

/**
 * @param closers gets a function to close each part as soon as it is open; call them last to first
 */
async function openParts(
  config: Config,
  { clock, log }: { clock: Clock; log: Log },
  closers: (() => void | Promise<void>)[],
): Promise<Omit<Core, 'close'>> {
  const { dataDir, influx } = config
  const disk = await ownDataDir(config, log, closers)
  let atRest: FilesAtRest | undefined
  closers.push(() => atRest?.close())
  const onFailure = (error: Error) => endProcess(error, log)
  const damaged = new DamageList()
  const onDamaged = (problem: string) => {
    if (!damaged.note(problem)) return
    log.error('stored data are damaged', { problem, remedy: RESTORE_BACKUP })
  }
  const onLoading = () => void (atRest = openWhole(dataDir))
  const { channel, close } = await startWriters(config, disk, { onFailure, onDamaged, onLoading })
  closers.push(close)
  const database = openForReading(join(dataDir, CONTROL_FILE))
  closers.push(() => void database.close())
  const metrics = new PrometheusMetrics()
  const progress = openProgress({ channel, database, clock, log, metrics }, () =>
    forwarding.hurry(),
  )
  const onJournalled = (measurements: number) => {
    progress.noteJournalled(measurements)
    forwarding.notify()
  }
  const controlWriter = createControlWriter(channel, onJournalled)
  const storeUpkeep = createStoreUpkeep(channel, onJournalled)
  const storeName = await adoptStore(storeUpkeep, config)
  const submissions = new Submissions(
    {
      committer: new SqliteSubmissionCommitter(channel, onJournalled),
      progress,
      clock,
      metrics,
      storage: disk,
      damaged,
    },
    { journalBytesMax: config.journalBytesMax, isStoreApart: influx !== undefined },
  )
  await checkBucket(config, log)
  const forwarding = await startForwarder(config, { channel, progress, metrics, onFailure })
  closers.push(
    () => forwarding.close(),
    () => progress.close(),
    () => submissions.close(),
  )
  atRest?.close()
  closers.push(await keepWitness(dataDir, log))
  await disk.keepBallast()
  const reader = openReader(config, onDamaged)
  closers.push(() => reader.close())
  const control = createControlReader(database)
  const isStoreWorking = () => forwarding.isStoreWorking
  const parts = {
    backlog: () => progress.backlog(),
    journalBytesMax: config.journalBytesMax,
    isStoreWorking,
    countForwardFailures: () => forwarding.failures,
    countSetAside: () => control.countSetAside(),
    countDamaged: () => damaged.problems.length,
    disk: () => disk.room,
  }
  closers.push(watchState(metrics, parts, { database, clock, log }, config))
  const writers = { controlWriter, storeUpkeep }
  const intake = { submissions, damaged, progress }
  return { ...intake, control, ...writers, reader, isStoreWorking, metrics, storeName }
}

/**
 * Opens the files for reading, if nothing is missing in them.
 *
 * @throws DamagedData
 */
function openWhole(dataDir: string): FilesAtRest {
  const files = new FilesAtRest(dataDir)
  const [finding] = files.findings
  if (finding === undefined) {
    forgetOtherLogs(dataDir)
    files.forgetTorn()
    return files
  }
  files.close()
  throw new DamagedData(describeFinding(finding))
}

// What a thread was writing may or may not be on disk: only a new start can tell.
function endProcess(error: Error, log: Log): never {
  log.error('a writing thread has died; the service ends, start it again', {
    error: error.stack ?? error.message,
  })
  process.exit(1)
}
