// The journal and the control data on SQLite: the threads that write, and in this thread what the
// main thread and the forwarder have of them.

import { cp, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AcceptanceRules } from '../../src/domain/acceptance.ts'
import { postponedError } from '../../src/domain/errors.ts'
import { NO_IDS } from '../../src/domain/ids-after-restore.ts'
import { DAY_MS } from '../../src/domain/time.ts'
import { prepareRestored } from '../../src/sqlite/backup/restored-control.ts'
import { SqliteSubmissionCommitter } from '../../src/sqlite/commit/submission-committer.ts'
import { createControlReader, createStoreRecords } from '../../src/sqlite/control/control-reader.ts'
import { createControlWriter } from '../../src/sqlite/control/control-writer.ts'
import { createDeletionJobs } from '../../src/sqlite/control/sensor-deletion-jobs.ts'
import { CONTROL_FILE, openForReading } from '../../src/sqlite/database.ts'
import { ForwardProgress } from '../../src/sqlite/journal/forward-progress.ts'
import { SqliteJournalQueue } from '../../src/sqlite/journal/journal-queue.ts'
import type { QueueNews } from '../../src/sqlite/journal/journal-queue.ts'
import { createAccounts } from '../../src/sqlite/verify/accounts.ts'
import { systemClock } from '../../src/system/clock.ts'
import { PrometheusMetrics } from '../../src/metrics/metrics.ts'
import { startWriting } from '../../src/threads/start-threads.ts'
import type { StoreChoice, StoreRecords } from '../../src/ports/store-upkeep.ts'
import type { OpenData, TestData } from '../contract/open-data.ts'
import { startInline } from './inline-threads.ts'
import { RecordingLog } from './log.ts'

const REPLAY_RETENTION = { keptMs: DAY_MS, measurementsMin: 0, measurementsMax: 1_000 }

/** With what only a DATA_DIR has: it knows which measurement store it uses. */
export interface SqliteData extends OpenData {
  readonly store: StoreRecords
  readonly storeChoice: StoreChoice
  readonly queue: SqliteJournalQueue
}

export async function newSqliteData(rules: AcceptanceRules): Promise<TestData<SqliteData>> {
  const dataDir = await mkdtemp(join(tmpdir(), 'thermolog-data-'))
  const folders = [dataDir]
  return {
    open: () => openIn(dataDir, rules),
    backUp: async () => {
      const copy = await mkdtemp(join(tmpdir(), 'thermolog-copy-'))
      folders.push(copy)
      await cp(dataDir, copy, { recursive: true })
      return async () => {
        await rm(dataDir, { recursive: true })
        await rename(copy, dataDir)
        const times = { nowMs: Date.now(), restoredToMs: Date.now() }
        const order = { ...times, isRevoking: false, idsInStore: NO_IDS }
        prepareRestored(dataDir, order)
      }
    },
    remove: async () => {
      for (const folder of folders) await rm(folder, { recursive: true, force: true })
    },
  }
}

async function openIn(dataDir: string, rules: AcceptanceRules): Promise<SqliteData> {
  const { channel, close } = await startWriting(
    startInline,
    { dataDir, epochEvents: 64, replayRetention: REPLAY_RETENTION, ...rules },
    {
      onFailure: (error) => {
        throw error
      },
      onDamaged: (problem) => {
        throw new Error(problem)
      },
      onLoading: () => undefined,
      onStorageFull: () => postponedError('storage_full'),
    },
  )
  const control = openForReading(dataDir, CONTROL_FILE)
  const progress = new ForwardProgress({
    database: control,
    channel,
    clock: systemClock,
    log: new RecordingLog(),
    metrics: new PrometheusMetrics(),
    onAwaited: () => undefined,
  })
  const hear = (news: QueueNews) => {
    if ('readable' in news) void progress.noteReadable(news.readable)
    else void progress.noteForwarded(news.forwarded)
  }
  const isIdle = new Int32Array(new SharedArrayBuffer(4))
  const queue = new SqliteJournalQueue({ control, tell: hear, isIdle })
  const onJournalled = (measurements: number) => {
    progress.noteJournalled(measurements)
    queue.notify()
  }
  const writer = createControlWriter(channel, onJournalled)
  return {
    committer: new SqliteSubmissionCommitter(channel, onJournalled),
    queue,
    jobs: createDeletionJobs({
      control,
      settledSeq: () => queue.settledSeq,
      tell: ({ deletionPass: { sensorId, dueAtMs } }) =>
        void channel.call('noteDeletionPass', sensorId, dueAtMs),
    }),
    barrier: progress,
    figures: progress,
    control: createControlReader(control),
    controlWriter: writer,
    store: createStoreRecords(control),
    storeUpkeep: writer,
    storeChoice: writer,
    accounts: createAccounts(control),
    close: async () => {
      progress.close()
      await close()
      control.close()
    },
  }
}
