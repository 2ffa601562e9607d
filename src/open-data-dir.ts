// What the service and a command that works without it have in common: DATA_DIR with its lock, the
// threads that write, the readers beside them, and the measurement store of the settings.

import { join, resolve } from 'node:path'
import { UnfitSettings } from './config.ts'
import type { Config, InfluxConfig } from './config.ts'
import { ServiceError, refusalError } from './domain/errors.ts'
import { epochEvents, journalEntryBytes } from './domain/limits.ts'
import { DAY_MS, SECOND_MS } from './domain/time.ts'
import { checkInfluxBucket } from './influx/bucket-check.ts'
import { InfluxConnection } from './influx/connection.ts'
import { InfluxMeasurementReader } from './influx/measurement-reader.ts'
import { Submissions } from './ingest/submissions.ts'
import type { ControlReader } from './ports/control-reader.ts'
import type { ControlWriter } from './ports/control-writer.ts'
import type { MeasurementReader } from './ports/measurement-store.ts'
import type { Clock, Log } from './ports/system.ts'
import type { StoreRecords } from './ports/store-upkeep.ts'
import { EMBEDDED_STORE } from './sqlite/backup/data-snapshot.ts'
import type { CommitChannel } from './sqlite/commit/commit-channel.ts'
import { SqliteControlReader } from './sqlite/control/control-reader.ts'
import { createControlWriter } from './sqlite/control/control-writer.ts'
import { lockDataDir, refuseUnfinishedRestore } from './sqlite/data-dir-lock.ts'
import type { Connection } from './sqlite/database.ts'
import { CONTROL_FILE, LEDGER_FILE, MEASUREMENTS_FILE, openForReading } from './sqlite/database.ts'
import { SqliteSubmissionCommitter } from './sqlite/commit/group-committer.ts'
import { ForwardProgress } from './sqlite/journal/forward-progress.ts'
import { JournalReader } from './sqlite/journal/journal-reader.ts'
import { SetAside } from './sqlite/journal/set-aside.ts'
import { SqliteMeasurementReader } from './sqlite/measurements/measurement-reader.ts'
import { StateFigures } from './sqlite/state-figures.ts'
import { prepareDataDir } from './system/data-dir.ts'
import { DiskWatch } from './system/disk-watch.ts'
import { readDiskSpace } from './system/disk.ts'
import { PrometheusMetrics } from './system/metrics.ts'
import type { ForwardChannel } from './threads/forward-channel.ts'
import type { DeletionPass } from './sqlite/control/sensor-deletion-jobs.ts'
import { startForwarding, startWriting } from './threads/start-threads.ts'
import type { WritingThreads } from './threads/start-threads.ts'

/** What InfluxDB took in this time is written again when it has started anew. */
const REPLAY_KEPT_MS = DAY_MS
const REPLAY_MEASUREMENTS_MIN = 1_000_000

/** A start waits no longer for InfluxDB to say how its bucket is. */
const INFLUX_CHECK = { socketsMax: 1, timeoutMs: 5 * SECOND_MS }

/**
 * Reads of histories at once. Who reads has an answer or 503 in ten seconds, two of which a history
 * may have waited for what is on its way.
 */
const INFLUX_READS = { socketsMax: 8, timeoutMs: 8 * SECOND_MS }

export interface Core {
  readonly submissions: Submissions
  readonly progress: ForwardProgress
  readonly control: ControlReader
  readonly controlWriter: ControlWriter
  readonly reader: MeasurementReader
  readonly forwarding: ForwardChannel
  readonly metrics: PrometheusMetrics
  /** `embedded`, or which InfluxDB. */
  readonly storeName: string
  close(): Promise<void>
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

/** An error that may be for want of room, with the room that there is. */
async function saidWithRoom(error: unknown, dataDir: string): Promise<unknown> {
  if (!(error instanceof Error) || !/disk is full|disk I\/O|ENOSPC|EDQUOT/.test(error.message)) {
    return error
  }
  const { freeBytes } = await readDiskSpace(dataDir)
  const room = `the volume of DATA_DIR (${resolve(dataDir)}) has ${freeBytes} bytes free`
  return new Error(`${error.message}: ${room}`, { cause: error })
}

/** @param closers gets what closes each part as soon as it is open; to be called last to first */
async function openParts(
  config: Config,
  { clock, log }: { clock: Clock; log: Log },
  closers: (() => void | Promise<void>)[],
): Promise<Omit<Core, 'close'>> {
  const { dataDir, influx } = config
  const disk = await ownDataDir(config, log, closers)
  const onFailure = (error: Error) => endProcess(error, log)
  const writing = await startWriters(config, disk, onFailure)
  closers.push(() => writing.close())
  const { channel } = writing
  const database = openForReading(join(dataDir, CONTROL_FILE))
  closers.push(() => void database.close())
  const metrics = new PrometheusMetrics()
  const progress = createProgress({ channel, database, clock, log, metrics }, () =>
    forwarding.hurry(),
  )
  const onJournalled = (measurements: number) => {
    progress.noteJournalled(measurements)
    forwarding.notify()
  }
  const controlWriter = createControlWriter(channel, onJournalled)
  const storeName = storeNameOf(config)
  await adoptStore(controlWriter, storeName)
  const submissions = new Submissions(
    {
      committer: new SqliteSubmissionCommitter(channel, onJournalled),
      progress,
      clock,
      metrics,
      storage: disk,
    },
    { journalBytesMax: config.journalBytesMax, isStoreApart: influx !== undefined },
  )
  if (influx !== undefined) await checkBucket(influx, log)
  const forwarding = await startForwarding(
    { dataDir, logLevel: config.logLevel, influx },
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
  closers.push(
    () => forwarding.close(),
    () => progress.close(),
    () => submissions.close(),
  )
  await disk.keepBallast()
  const reader = openReader(config)
  closers.push(() => reader.close())
  const control = new SqliteControlReader(database)
  const watched = { progress, forwarding, control, database, disk, clock }
  closers.push(watchState(metrics, watched, config))
  return { submissions, progress, control, controlWriter, reader, forwarding, metrics, storeName }
}

/** Settings are picked one by one: a thread gets no secret. */
function startWriters(
  config: Config,
  disk: DiskWatch,
  onFailure: (error: Error) => void,
): Promise<WritingThreads> {
  const { dataDir, mayRegisterSensors, sensorsPerUserMax, futureMsMax, measuredAtMsMin } = config
  const rules = { mayRegisterSensors, sensorsPerUserMax, futureMsMax, measuredAtMsMin }
  const settings = { dataDir, epochEvents, replayRetention: retentionOf(config), ...rules }
  const onStorageFull = () => {
    disk.noteFull()
    return refusalError('storage_full', disk.describe())
  }
  return startWriting(settings, { onFailure, onStorageFull })
}

function createProgress(
  of: {
    readonly channel: CommitChannel
    readonly database: Connection
    readonly clock: Clock
    readonly log: Log
    readonly metrics: PrometheusMetrics
  },
  onAwaited: () => void,
): ForwardProgress {
  const { channel, database, clock, log, metrics } = of
  const setAside = new SetAside(database)
  return new ForwardProgress({
    journal: new JournalReader(database),
    hasSetAside: (sensorId, range) => setAside.has(sensorId, range),
    setAside: (refused) => channel.call('setAside', refused),
    noteForwarded: (throughSeq) => channel.noteForwarded(throughSeq),
    clock,
    log,
    metrics,
    onAwaited,
  })
}

/** Makes DATA_DIR this process's own, with room for opening what is in it. */
async function ownDataDir(
  config: Config,
  log: Log,
  closers: (() => void | Promise<void>)[],
): Promise<DiskWatch> {
  const { dataDir } = config
  await prepareDataDir(dataDir)
  const lock = lockDataDir(dataDir)
  closers.push(() => lock.release())
  refuseUnfinishedRestore(dataDir)
  const disk = new DiskWatch(log, { dataDir, bytesMin: freeBytesMin(config) })
  await disk.start()
  closers.push(() => disk.stop())
  return disk
}

/** What a full disk keeps from being noted is due again, and done again. */
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

/** Tells metrics what to ask when they are read. @returns what ends that */
function watchState(
  metrics: PrometheusMetrics,
  watched: {
    readonly progress: ForwardProgress
    readonly forwarding: ForwardChannel
    readonly control: SqliteControlReader
    readonly database: Connection
    readonly disk: DiskWatch
    readonly clock: Clock
  },
  config: Config,
): () => void {
  const { progress, forwarding, control, database, disk, clock } = watched
  const ledger = openForReading(join(config.dataDir, LEDGER_FILE))
  const figures = new StateFigures(database, ledger)
  metrics.watch({
    backlog: () => progress.backlog(),
    journalBytesMax: config.journalBytesMax,
    isStoreWorking: () => forwarding.isStoreWorking,
    countForwardFailures: () => forwarding.failures,
    countSetAside: () => control.countSetAside(),
    sensors: () => figures.sensors(clock.nowMs() - config.offlineAfterMs),
    sensorDeletions: () => figures.sensorDeletions(clock.nowMs()),
    countSealedEvents: () => figures.sealedEvents(),
    disk: () => disk.room,
  })
  return () => void ledger.close()
}

/** The store by what does not change when its server moves. */
export function storeNameOf({ influx }: Config): string {
  return influx === undefined
    ? EMBEDDED_STORE
    : `InfluxDB, organization ${influx.organization}, bucket ${influx.influxBucket}`
}

// Measurements that are in one store must not be looked for in another.
async function adoptStore(controlWriter: ControlWriter, wanted: string): Promise<void> {
  const inUse = await controlWriter.adoptStore(wanted)
  if (inUse === wanted) return
  throw new UnfitSettings(
    `DATA_DIR keeps its measurements in another store (${inUse}) than the settings say ` +
      `(${wanted}): set the old one again, or move them with \`thermolog store copy\``,
  )
}

/**
 * For what only reads and adopts no store.
 *
 * @throws UnfitSettings when DATA_DIR keeps its measurements in another store than the settings say
 */
export async function refuseOtherStore(config: Config, store: StoreRecords): Promise<void> {
  const inUse = await store.readStoreName()
  const wanted = storeNameOf(config)
  if (inUse === undefined || inUse === wanted) return
  throw new UnfitSettings(
    `DATA_DIR keeps its measurements in another store (${inUse}) than the settings say (${wanted})`,
  )
}

/** Reads the measurement store of the settings. */
export function openReader({ dataDir, influx }: Config): MeasurementReader {
  return influx === undefined
    ? new SqliteMeasurementReader(join(dataDir, MEASUREMENTS_FILE))
    : new InfluxMeasurementReader(new InfluxConnection(influx, INFLUX_READS))
}

/** The service starts without InfluxDB, but never on a bucket that forgets. */
async function checkBucket(influx: InfluxConfig, log: Log): Promise<void> {
  const connection = new InfluxConnection(influx, INFLUX_CHECK)
  const state = await checkInfluxBucket(connection)
  connection.close()
  if (state.kind === 'expires') throw new UnfitSettings(`${state.problem}: ${state.remedy}`)
  if (state.kind === 'created') log.info('made the bucket', { bucket: influx.influxBucket })
  if (state.kind === 'fault') log.error(state.problem, { remedy: state.remedy })
  if (state.kind === 'unreachable') {
    log.warn('InfluxDB is out of reach; the journal keeps measurements', { error: state.reason })
  }
}

function retentionOf({ influx, journalBytesMax }: Config) {
  if (influx === undefined) return undefined
  return {
    keptMs: REPLAY_KEPT_MS,
    measurementsMin: REPLAY_MEASUREMENTS_MIN,
    // The other half is for what is not forwarded yet.
    measurementsMax: Math.max(
      REPLAY_MEASUREMENTS_MIN,
      Math.floor(journalBytesMax / 2 / journalEntryBytes),
    ),
  }
}

function freeBytesMin({ freeDiskMin }: Config) {
  return ({ totalBytes }: { totalBytes: number }) =>
    Math.min(freeDiskMin.bytes, (totalBytes * freeDiskMin.volumePercent) / 100)
}

// What a thread was writing may or may not be on disk: only a new start can tell.
function endProcess(error: Error, log: Log): never {
  log.error('a writing thread has died; the service ends, start it again', {
    error: error.stack ?? error.message,
  })
  process.exit(1)
}
