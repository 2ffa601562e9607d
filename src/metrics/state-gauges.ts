// The service's state as gauges: backlog, stored data, free space. Each is read on a scrape;
// nothing maintains them.

import { Counter, Gauge } from 'prom-client'
import type { Registry } from 'prom-client'
import type { DamageList } from '../ingest/damage-list.ts'
import { SECOND_MS } from '../domain/time.ts'
import type { QueueFigures } from '../ports/journal-queue.ts'
import type { DatabaseWatch } from '../ports/system.ts'
import type { DiskWatch } from '../system/disk-watch.ts'
import type { LastBackup } from '../system/last-backup.ts'
import { ledgerMemoryBytes, memoryLimit } from '../system/memory.ts'

const PREFIX = 'thermolog_'

/** What a scrape reads. */
export interface WatchedState {
  readonly progress: Pick<QueueFigures, 'backlog'>
  /** Submissions are refused when the backlog reaches this size. */
  readonly journalBytesMax: number
  readonly store: StoreState
  readonly countSetAside: () => Promise<number>
  readonly figures: StateFigures
  readonly damaged: DamageList
  /** `undefined`: everything is in a database. */
  readonly dataDir?: DataDirState
  /** `undefined`: there is none. */
  readonly database?: Pick<DatabaseWatch, 'state'>
}

interface DataDirState {
  readonly disk: Pick<DiskWatch, 'room'>
  readonly readLastBackup: () => Promise<LastBackup | undefined>
}

interface StoreState {
  /** Whether the last write into the measurement store succeeded. */
  readonly isWorking: boolean
  /** Failed writes since the start. */
  readonly failures: number
}

interface StateFigures {
  /** Of all users; when a sensor last sent, 0 if none ever did. */
  sensors(): { readonly registered: number; readonly online: number; readonly lastSeenAtMs: number }
  /** Those with measurements still in the store; 0 ms if there are none. */
  sensorDeletions(): { readonly count: number; readonly oldestAgeMs: number }
  /** Events in the sealed part of the ledger. */
  countSealedEvents(): number
}

interface Figure<Look> {
  readonly name: string
  readonly help: string
  readonly read: (look: Look) => number
}

export function addStateGauges(registry: Registry, state: WatchedState): void {
  const { figures, damaged, database, dataDir } = state
  addJournal(registry, state)
  addStore(registry, state)
  addGauges(registry, () => figures.sensors(), [
    { name: 'sensors', help: 'Sensors of all users', read: ({ registered }) => registered },
    { name: 'sensors_online', help: 'Sensors that are online', read: ({ online }) => online },
    {
      name: 'last_measurement_timestamp_seconds',
      help: 'When a new measurement was last received, even before a restart; 0 if none ever was',
      read: ({ lastSeenAtMs }) => lastSeenAtMs / SECOND_MS,
    },
  ])
  addGauges(registry, () => figures.countSealedEvents(), [
    {
      name: 'ledger_sealed_events',
      help: 'Event ids in the sealed part of the ledger; the newest are in memory',
      read: (events) => events,
    },
  ])
  addGauges(registry, () => damaged.problems, [
    {
      name: 'damaged_places',
      help: 'Damaged places found when stored data were read, up to 10; /readyz names them',
      read: ({ length }) => length,
    },
  ])
  if (database !== undefined) addDatabase(registry, database)
  if (dataDir !== undefined) addDataDir(registry, dataDir, figures)
  addMemoryLimit(registry)
}

function addDataDir(
  registry: Registry,
  { disk, readLastBackup }: DataDirState,
  figures: StateFigures,
): void {
  addGauges(registry, () => disk.room, [
    {
      name: 'disk_free_bytes',
      help: 'Free space on the volume of DATA_DIR',
      read: ({ freeBytes }) => freeBytes,
    },
    {
      name: 'disk_free_min_bytes',
      help: 'Free space below which submissions are refused',
      read: ({ freeBytesMin }) => freeBytesMin,
    },
  ])
  addGauges(registry, () => figures.countSealedEvents(), [
    {
      name: 'ledger_memory_bytes',
      help: 'Memory that the sealed part of the ledger needs, even at rest',
      read: ledgerMemoryBytes,
    },
  ])
  const lastBackup: Gauge = new Gauge({
    name: `${PREFIX}last_backup_timestamp_seconds`,
    help: 'When the last successful `thermolog backup` was started; 0 if none is known',
    registers: [registry],
    collect: async () => {
      const { takenAtMs = 0 } = (await readLastBackup()) ?? {}
      lastBackup.set(takenAtMs / SECOND_MS)
    },
  })
}

/** Without a limit, there is no sample. */
function addMemoryLimit(registry: Registry): void {
  const limit: Gauge = new Gauge({
    name: `${PREFIX}memory_limit_bytes`,
    help: 'Memory limit of the control group of this process',
    registers: [registry],
    collect: () => {
      const bytes = memoryLimit()
      if (bytes === undefined) limit.remove()
      else limit.set(bytes)
    },
  })
}

function addDatabase(registry: Registry, database: Pick<DatabaseWatch, 'state'>): void {
  addGauges(registry, () => database.state, [
    {
      name: 'database_warnings',
      help: 'Warnings about the database; /readyz shows them',
      read: ({ warnings }) => warnings.length,
    },
  ])
  const info: Gauge = new Gauge({
    name: `${PREFIX}process_info`,
    help: 'Which of several processes this is, and its durability; always 1',
    labelNames: ['process', 'durability'],
    registers: [registry],
    collect: () => {
      const { process, durability } = database.state
      info.set({ process, durability }, 1)
    },
  })
}

function addJournal(registry: Registry, { progress, journalBytesMax }: WatchedState): void {
  addGauges(registry, () => progress.backlog(), [
    {
      name: 'journal_backlog_entries',
      help: 'Acknowledged measurements that are not yet in the measurement store',
      read: ({ entries }) => entries,
    },
    {
      name: 'journal_backlog_bytes',
      help: 'Size of the backlog in the journal',
      read: ({ bytes }) => bytes,
    },
    {
      name: 'journal_backlog_max_bytes',
      help: 'Size of the backlog at which submissions are refused',
      read: () => journalBytesMax,
    },
    {
      name: 'journal_backlog_oldest_age_seconds',
      help: 'How long the oldest entry of the backlog has been waiting',
      read: ({ oldestAgeMs }) => oldestAgeMs / SECOND_MS,
    },
  ])
}

function addStore(registry: Registry, state: WatchedState): void {
  const { store, figures } = state
  const failures = new Counter({
    name: `${PREFIX}forward_failures_total`,
    help: 'Failed writes into the measurement store, which are retried',
    registers: [registry],
    collect: () => {
      failures.reset()
      failures.inc(store.failures)
    },
  })
  addGauges(registry, () => store.isWorking, [
    {
      name: 'store_working',
      help: 'Whether the last write into the measurement store succeeded',
      read: Number,
    },
  ])
  addGauges(registry, () => figures.sensorDeletions(), [
    {
      name: 'pending_sensor_deletions',
      help: 'Deleted sensors whose measurements are still in the store',
      read: ({ count }) => count,
    },
    {
      name: 'pending_sensor_deletions_oldest_age_seconds',
      help: 'How long ago the first of these sensors was deleted',
      read: ({ oldestAgeMs }) => oldestAgeMs / SECOND_MS,
    },
  ])
  const setAside: Gauge = new Gauge({
    name: `${PREFIX}set_aside_measurements`,
    help: 'Measurements set aside, which an operator must settle',
    registers: [registry],
    collect: async () => setAside.set(await state.countSetAside()),
  })
}

/** Gauges of one reading: the first of them is collected first and sets the others. */
export function addGauges<Look>(
  registry: Registry,
  look: () => Look,
  figures: readonly Figure<Look>[],
): void {
  const gauges = figures.map(({ name, help }, at) => {
    return new Gauge({
      name: PREFIX + name,
      help,
      registers: [registry],
      ...(at === 0 && { collect: () => setAll() }),
    })
  })
  const setAll = () => {
    const seen = look()
    figures.forEach(({ read }, at) => gauges[at]?.set(read(seen)))
  }
}
