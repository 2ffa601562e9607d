// The core on PostgreSQL, which any number of processes may have open. This process commits through
// lanes of its own, forwards the streams that it leases, and keeps nothing that another one needs.

import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { pid } from 'node:process'
import { UnfitSettings } from '../config.ts'
import type { Config } from '../config.ts'
import type { HighestIds } from '../domain/ids-after-restore.ts'
import { DamageList } from '../domain/damage-list.ts'
import { Submissions } from '../ingest/submissions.ts'
import type { Clock, Log } from '../ports/system.ts'
import { PostgresControlReader } from '../postgres/control/control-reader.ts'
import { createControlWriter } from '../postgres/control/control-writer.ts'
import { createStoreUpkeep } from '../postgres/control/store-upkeep.ts'
import { Database, unlessAway } from '../postgres/database.ts'
import type { DatabaseOptions } from '../postgres/database.ts'
import { PostgresForwardProgress } from '../postgres/journal/forward-progress.ts'
import { PostgresJournalQueue } from '../postgres/journal/journal-queue.ts'
import { migrate } from '../postgres/migrate.ts'
import { checkServer } from '../postgres/server-check.ts'
import type { ServerState } from '../postgres/server-check.ts'
import { PostgresRateCounters } from '../postgres/shared/rate-counters.ts'
import { PostgresSignInCodes } from '../postgres/shared/sign-in-codes.ts'
import { countingFault } from '../postgres/stream/counting-check.ts'
import { PostgresSubmissionCommitter } from '../postgres/stream/submission-committer.ts'
import { noticeTakeover, untilDecided } from '../postgres/server/notice-takeover.ts'
import { refuseUnfinishedMove } from '../postgres/server/recorded-server.ts'
import type { Takeover } from '../postgres/server/renewal.ts'
import { SeenStreams } from '../postgres/server/seen-streams.ts'
import { PrometheusMetrics } from '../system/metrics.ts'
import { checkBucket } from './check-bucket.ts'
import { databaseStore } from './database-store.ts'
import { readIdsInStore } from './ids-in-store.ts'
import { adoptStore } from './measurement-store.ts'
import type { Core } from './open-core.ts'
import { refusingUnfit } from './refuse-unfit.ts'
import { startDatabaseForwarder } from './start-database-forwarder.ts'
import { watchDatabase } from './watch-database.ts'

/** Besides those of lanes. */
const CONNECTIONS_MAX = 12
/** One big group is cheapest; a second keeps the processors busy during the fsync of the first. */
const LANES = 2

type DatabaseConfig = Config & { readonly database: NonNullable<Config['database']> }

/** The disk is the server's: that it is full is found out by writing. */
const STORAGE = {
  isLow: false,
  describe: () => ({
    detail: 'The disk of the database is full.',
    hint: 'make room on the volume of PostgreSQL',
  }),
}

interface System {
  readonly clock: Clock
  readonly log: Log
  /** Commands leave it to the service, and do not watch the server either. */
  readonly isForwarding: boolean
}

/** @throws UnfitSettings if the server cannot be relied on */
export async function openPostgresCore(config: DatabaseConfig, system: System): Promise<Core> {
  const closers: (() => void | Promise<void>)[] = []
  const close = async () => {
    for (const closeOne of closers.splice(0).toReversed()) await closeOne()
  }
  try {
    return { ...(await openParts(config, system, closers)), close }
  } catch (error) {
    await close()
    throw error
  }
}

async function openParts(
  config: DatabaseConfig,
  { clock, log, isForwarding }: System,
  closers: (() => void | Promise<void>)[],
): Promise<Omit<Core, 'close'>> {
  const process = `${hostname()} ${pid}`
  const owner = `${process} ${randomUUID()}`
  const seen = new SeenStreams()
  const greeted = greeting(config, { owner, seen, log })
  const { database, server, greet } = await openDatabase(config, log, greeted)
  closers.push(() => database.close())
  const of = { database, clock, log }
  const metrics = new PrometheusMetrics()
  const progress = new PostgresForwardProgress({
    ...of,
    metrics,
    onAwaited: () => forwarding.hurry(),
  })
  closers.push(() => progress.close())
  const store = databaseStore(config, of)
  closers.push(() => store.reader.close())
  const { retention } = store
  const queue = new PostgresJournalQueue({ ...of, progress }, { owner, retention })
  closers.push(() => unlessAway(() => queue.close(), undefined))
  const onJournalled = () => queue.notify()
  const storeUpkeep = createStoreUpkeep(database, clock, onJournalled)
  const storeName = await adoptStore(storeUpkeep, config)
  await checkBucket(config, log)
  const damaged = new DamageList()
  const { url: databaseUrl, durability } = config.database
  const committer = new PostgresSubmissionCommitter(
    { databaseUrl, owner, lanes: LANES, durability, greet, clock, rules: config, seen },
    onJournalled,
  )
  closers.push(() => committer.close())
  const forwarding = startDatabaseForwarder({ ...of, queue, store }, isForwarding)
  closers.push(() => forwarding.close())
  const watching = await watchDatabase(
    { ...of, metrics, progress, forwarding, seen },
    { config, process, server, isLooking: isForwarding },
  )
  closers.push(() => watching.stop())
  const { watch } = watching
  const submissions = new Submissions(
    { committer, progress, clock, clockWatch: watch, metrics, storage: STORAGE, damaged },
    { journalBytesMax: config.journalBytesMax, isStoreApart: true },
  )
  closers.push(() => submissions.close())
  const rateCounters = new PostgresRateCounters(of)
  closers.push(() => rateCounters.close())
  return {
    submissions,
    damaged,
    progress,
    control: new PostgresControlReader(database),
    controlWriter: createControlWriter(of, config, onJournalled),
    storeUpkeep,
    reader: store.reader,
    isStoreWorking: () => forwarding.isStoreWorking,
    metrics,
    storeName,
    shared: {
      rateCounters,
      codes: new PostgresSignInCodes(database),
      dataIdentity: watch,
      database: watch,
    },
  }
}

type Greeting = NonNullable<DatabaseOptions['greet']>

const TAKEN_OVER: Readonly<Record<Takeover, string>> = {
  promotion: 'another server has the data: a standby was promoted that lacks nothing',
  restore:
    'another server has the data, which may lack what was acknowledged last: they have a new id',
}

/** What is done on every new connection before it is used. */
function greeting(
  config: DatabaseConfig,
  { owner, seen, log }: { readonly owner: string; readonly seen: SeenStreams; readonly log: Log },
): Greeting {
  const { durability } = config.database
  let asking: Promise<HighestIds> | undefined
  // It may take a minute: connections that want to know it at the same time ask once.
  const findIdsInStore = (storeName: string | undefined) => {
    asking ??= readIdsInStore(config, storeName).finally(() => (asking = undefined))
    return asking
  }
  const witness = { owner, durability, seen, findIdsInStore }
  return async (client) => {
    const takeover = await noticeTakeover(client, witness)
    if (takeover !== undefined) log.warn(TAKEN_OVER[takeover])
  }
}

/** @throws UnfitSettings */
async function openDatabase(
  { database }: DatabaseConfig,
  log: Log,
  greeted: Greeting,
): Promise<OpenDatabase> {
  const { url, durability } = database
  const server = await orUnfit(() => checkServer(url, durability))
  const { version, faults, warnings } = server
  refuseFaults(faults)
  for (const warning of warnings) log.warn(warning, { postgresql: version })
  const applied = await orUnfit(() => migrate(url))
  await orUnfit(() => refuseUnfinishedMove(url))
  const fault = await orUnfit(() => countingFault(url))
  refuseFaults(fault === undefined ? [] : [fault])
  await orUnfit(() => untilDecided(url, greeted))
  if (applied.length > 0) log.info('made the schema', { versions: applied.join(' ') })
  const greet = refusingUnfit(greeted, log)
  return { database: new Database(url, CONNECTIONS_MAX, { greet }), server, greet }
}

/** @throws UnfitSettings if there is any */
function refuseFaults(faults: readonly string[]): void {
  if (faults.length === 0) return
  throw new UnfitSettings(`the server of DATABASE_URL cannot be used: ${faults.join('; ')}`)
}

interface OpenDatabase {
  readonly database: Database
  /** Of each further connection. */
  readonly greet: Greeting
  readonly server: ServerState
}

/** No server, no such database, no right to it, a schema of a later version. */
async function orUnfit<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new UnfitSettings(`the database of DATABASE_URL cannot be used: ${reason}`)
  }
}
