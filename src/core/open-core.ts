// What the service shares with commands that work without it: DATA_DIR and its lock, the writing
// threads, the readers, and the measurement store in the settings.

import { logForm } from '../config-environment.ts'
import type { Config } from '../config.ts'
import { DamageList } from '../ingest/damage-list.ts'
import { postponedError } from '../domain/errors.ts'
import { RESTORE_BACKUP } from '../domain/finding.ts'
import {
  epochEvents,
  journalEntryBytes,
  lastWritesBytesMax,
  storedMeasurementBytes,
} from '../domain/limits.ts'
import { Submissions } from '../ingest/submissions.ts'
import type { ControlReader, DataIdentity } from '../ports/control-reader.ts'
import type { ControlWriter } from '../ports/control-writer.ts'
import type { QueueFigures, ReadBarrier } from '../ports/journal-queue.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'
import type { RateCounters } from '../ports/rate-counters.ts'
import type { SignInCodes } from '../ports/sign-in-codes.ts'
import type { StoreChoice, StoreUpkeep } from '../ports/store-upkeep.ts'
import type {
  Clock,
  ClockWatch,
  DatabaseWatch,
  Log,
  MachineClock,
  Metrics,
  MetricsSource,
  OwnClock,
} from '../ports/system.ts'
import type { CommitChannel } from '../sqlite/commit/commit-channel.ts'
import { SqliteSubmissionCommitter } from '../sqlite/commit/submission-committer.ts'
import { createControlReader } from '../sqlite/control/control-reader.ts'
import { createControlWriter } from '../sqlite/control/control-writer.ts'
import { readNewestReceiptMs } from '../sqlite/control/receipts.ts'
import { CONTROL_FILE, LEDGER_FILE, openForReading } from '../sqlite/database.ts'
import type { Connection } from '../sqlite/database.ts'
import { ForwardProgress } from '../sqlite/journal/forward-progress.ts'
import { StateFigures } from '../sqlite/state-figures.ts'
import { openWhole } from '../sqlite/verify/files-at-rest.ts'
import type { FilesAtRest } from '../sqlite/verify/files-at-rest.ts'
import { BelievedClock } from '../system/believed-clock.ts'
import { prepareDataDir, refuseSmallVolume } from '../system/data-dir.ts'
import { DiskWatch } from '../system/disk-watch.ts'
import { readLastBackup } from '../system/last-backup.ts'
import { logMemory, memoryLimit } from '../system/memory.ts'
import { PrometheusMetrics } from '../metrics/metrics.ts'
import type { ForwardChannel } from '../threads/forward-channel.ts'
import type { StartThread } from '../threads/messages.ts'
import { startForwarding, startWorker, startWriting } from '../threads/start-threads.ts'
import type { WritingThreads } from '../threads/start-threads.ts'
import { emptyLogs } from '../sqlite/log/empty-logs.ts'
import { keepWitness } from '../sqlite/log/keep-witness.ts'
import { pause } from '../system/pause.ts'
import { adoptStore, openReader, retentionOf } from './measurement-store.ts'
import { ownDataDir } from './own-data-dir.ts'

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
  /** `undefined`: in a database, there is no choice. */
  readonly storeChoice?: StoreChoice
  /** Where the measurements are; of an InfluxDB, which one. */
  readonly storeName: string
  /** What all else goes by. */
  readonly clock: Clock
  readonly clockWatch: ClockWatch
  /** `undefined`: the clock that counts is another server's. */
  readonly ownClock?: OwnClock
  /** State shared by several processes; `undefined`: this process is alone. */
  readonly shared?: SharedState
  /** From now on, gives up what a database does not answer soon. */
  readonly giveUpSoon?: () => void
  close(): Promise<void>
}

export interface SharedState {
  readonly rateCounters: RateCounters
  readonly codes: SignInCodes
  /** The current identity: a restore changes it while processes run. */
  readonly dataIdentity: DataIdentity
  readonly database?: DatabaseWatch
}

export interface System {
  readonly clock: MachineClock
  readonly log: Log
  /** With a database, commands leave forwarding to the service and do not watch the server. */
  readonly isForwarding: boolean
  /** Starts what writes beside the main thread; `undefined`: each in a worker. */
  readonly startThread?: StartThread | undefined
}

/** Functions that close each part; call them last to first. */
export type Closers = (() => void | Promise<void>)[]

/**
 * Opens DATA_DIR for this process alone.
 *
 * @param closers receives a function to close each part as soon as it is open
 * @throws UnfitSettings @throws UnfitDataDir @throws OtherFormat @throws DamagedData
 */
export async function openFiles(
  config: Config,
  { clock: machine, log, startThread = startWorker }: System,
  closers: Closers,
): Promise<Omit<Core, 'close'>> {
  const { dataDir, journalBytesMax } = config
  const disk = await openDataDir(config, log, closers)
  let atRest: FilesAtRest | undefined
  closers.push(() => atRest?.close())
  const onFailure = (error: Error) => endProcess(error, log)
  const damaged = new DamageList()
  const onDamaged = (problem: string) => {
    if (!damaged.note(problem)) return
    log.error('stored data are damaged', { problem, remedy: RESTORE_BACKUP })
  }
  const onLoading = () => {
    atRest = openWhole(dataDir)
    atRest.refuseOtherFormats()
    if (disk.room.freeBytes < lastWritesBytesMax) emptyLogs(dataDir)
  }
  const events = { onFailure, onDamaged, onLoading }
  const { channel, close } = await startWriters(startThread, config, disk, events)
  closers.push(close)
  const database = openForReading(dataDir, CONTROL_FILE)
  closers.push(() => void database.close())
  const onJournalled = (measurements: number) => {
    progress.noteJournalled(measurements)
    forwarding.notify()
  }
  const clock = new BelievedClock(machine, log)
  closers.push(clock.watch())
  const ownClock = compareReceipts(clock, { database, channel })
  const writer = createControlWriter(channel, onJournalled)
  const storeName = await adoptStore(writer, config, log)
  const metrics = new PrometheusMetrics()
  const of = { channel, database, clock, log, metrics, onFailure }
  const { progress, forwarding } = await startForwarder(startThread, config, of)
  const committer = new SqliteSubmissionCommitter(channel, onJournalled)
  const submissions = new Submissions(
    { committer, progress, clock, clockWatch: clock, metrics, storage: disk, damaged },
    { journalBytesMax, isStoreEmbedded: config.influx === undefined },
  )
  closers.push(
    () => forwarding.close(),
    () => progress.close(),
    () => submissions.close(),
  )
  atRest?.close()
  closers.push(await keepWitness(dataDir, { pause, log }))
  // InfluxDB has a disk of its own.
  const growth = config.influx === undefined ? storedMeasurementBytes / journalEntryBytes : 0
  await disk.keepReserve(() => progress.backlogBytes * growth)
  const reader = await openReader(config, onDamaged)
  closers.push(() => reader.close())
  const control = createControlReader(database)
  const ledger = openForReading(dataDir, LEDGER_FILE)
  closers.push(() => void ledger.close())
  const figures = new StateFigures({ control: database, ledger, clock }, config)
  const countSetAside = () => control.countSetAside()
  const { store } = forwarding
  const files = { disk, readLastBackup: () => readLastBackup(dataDir) }
  const watched = { progress, journalBytesMax, store, countSetAside, figures, damaged }
  metrics.watch({ ...watched, dataDir: files })
  logMemory(log, figures.countSealedEvents(), memoryLimit())
  const writers = { controlWriter: writer, storeUpkeep: writer, storeChoice: writer }
  const intake = { submissions, clock, clockWatch: clock, ownClock, damaged, progress }
  const isStoreWorking = () => store.isWorking
  return { ...intake, control, ...writers, reader, isStoreWorking, metrics, storeName }
}

function compareReceipts(
  clock: BelievedClock,
  { database, channel }: { readonly database: Connection; readonly channel: CommitChannel },
): OwnClock {
  clock.compareWithReceipt(readNewestReceiptMs(database))
  return {
    accept: async () => {
      const newestMs = readNewestReceiptMs(database)
      await channel.call('acceptClock')
      clock.accept()
      return newestMs > 0 ? newestMs : undefined
    },
    onMoved: (call) => clock.onMoved(call),
  }
}

/** Locks DATA_DIR for this process and makes room to open its files. */
async function openDataDir(config: Config, log: Log, closers: Closers): Promise<DiskWatch> {
  const { dataDir } = config
  await prepareDataDir(dataDir)
  await refuseSmallVolume(dataDir, config.freeDiskMin)
  const lock = await ownDataDir(dataDir)
  closers.push(() => lock.release())
  const disk = new DiskWatch(log, { dataDir, freeDiskMin: config.freeDiskMin })
  await disk.start()
  closers.push(() => disk.stop())
  return disk
}

/**
 * Starts the threads that write control.db and ledger.db. Their settings are picked one by one, so
 * that no thread receives a secret.
 */
function startWriters(
  startThread: StartThread,
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
  const replayRetention = retentionOf(config)
  const onStorageFull = () => {
    disk.noteFull()
    return postponedError('storage_full', disk.describe())
  }
  const settings = { dataDir, epochEvents, replayRetention, ...rules }
  return startWriting(startThread, settings, { ...events, onStorageFull })
}

/** Starts the thread that forwards the journal. */
async function startForwarder(
  startThread: StartThread,
  { dataDir, logLevel, influx }: Config,
  of: {
    readonly channel: CommitChannel
    readonly database: Connection
    readonly clock: Clock
    readonly log: Log
    readonly metrics: Metrics
    readonly onFailure: (error: Error) => void
  },
): Promise<{ progress: ForwardProgress; forwarding: ForwardChannel }> {
  const progress = new ForwardProgress({ ...of, onAwaited: () => forwarding.hurry() })
  const settings = { dataDir, logLevel, logForm: logForm(process, 'stdout'), influx }
  const forwarding = await startForwarding(startThread, settings, { ...of, progress })
  return { progress, forwarding }
}

// What a thread was writing may or may not be on disk: only a restart can tell.
function endProcess(error: Error, log: Log): never {
  log.error('a writing thread has died; the service ends, start it again', {
    error: error.stack ?? error.message,
  })
  process.exit(1)
}
