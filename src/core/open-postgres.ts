// The core on PostgreSQL, which any number of processes may have open. This process commits through
// lanes of its own, forwards the streams that it leases, and keeps nothing that another one needs.

import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { pid } from 'node:process'
import { UnfitSettings } from '../config.ts'
import type { Config } from '../config.ts'
import { DamageList } from '../domain/damage-list.ts'
import { Submissions } from '../ingest/submissions.ts'
import type { Clock, Log } from '../ports/system.ts'
import { createControlReader } from '../postgres/control/control-reader.ts'
import { createControlWriter } from '../postgres/control/control-writer.ts'
import { createStoreUpkeep } from '../postgres/control/store-upkeep.ts'
import { Database, unlessAway } from '../postgres/database.ts'
import { PostgresForwardProgress } from '../postgres/journal/forward-progress.ts'
import { PostgresJournalQueue } from '../postgres/journal/journal-queue.ts'
import { migrate } from '../postgres/migrate.ts'
import { checkServer } from '../postgres/server-check.ts'
import type { ServerState } from '../postgres/server-check.ts'
import { PostgresRateCounters } from '../postgres/shared/rate-counters.ts'
import { PostgresSignInCodes } from '../postgres/shared/sign-in-codes.ts'
import { countingFault } from '../postgres/stream/counting-check.ts'
import { LEAVE_STREAMS } from '../postgres/stream/lane-statements.ts'
import { PostgresSubmissionCommitter } from '../postgres/stream/submission-committer.ts'
import { untilDecided } from '../postgres/server/notice-takeover.ts'
import { SeenStreams } from '../postgres/server/seen-streams.ts'
import { PrometheusMetrics } from '../system/metrics.ts'
import { checkBucket } from './check-bucket.ts'
import { databaseStore } from './database-store.ts'
import { greetingsOf } from './greetings.ts'
import type { Greetings } from './greetings.ts'
import { adoptStore } from './measurement-store.ts'
import type { Core } from './open-core.ts'
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
  const seen = new SeenStreams(clock)
  const greetings = greetingsOf(config, { owner, seen, log })
  const { database, server } = await openDatabase(config, log, greetings)
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
  const lanes = { databaseUrl, durability, owner, seen, greet: greetings.lane, lanes: LANES }
  const committer = new PostgresSubmissionCommitter(
    { ...lanes, clock, rules: config },
    onJournalled,
  )
  closers.push(() => unlessAway(() => leaveStreams(database, owner), undefined))
  closers.push(() => committer.close())
  const forwarding = startDatabaseForwarder({ ...of, queue, store }, isForwarding)
  closers.push(() => forwarding.close())
  const watching = await watchDatabase(
    { ...of, metrics, progress, forwarding, seen },
    { config, process, server, isLooking: isForwarding },
  )
  closers.push(() => watching.stop())
  const submissions = new Submissions(
    { committer, progress, clock, clockWatch: watching.watch, metrics, storage: STORAGE, damaged },
    { journalBytesMax: config.journalBytesMax, isStoreApart: true },
  )
  closers.push(() => submissions.close())
  const rateCounters = new PostgresRateCounters(of)
  closers.push(() => rateCounters.close())
  return {
    submissions,
    damaged,
    progress,
    control: createControlReader(database),
    controlWriter: createControlWriter(of, config, onJournalled),
    storeUpkeep,
    reader: store.reader,
    isStoreWorking: () => forwarding.isStoreWorking,
    metrics,
    storeName,
    shared: {
      rateCounters,
      codes: new PostgresSignInCodes(database),
      dataIdentity: watching.watch,
      database: watching.watch,
    },
  }
}

/** Whoever takes over later waits for no owner who is gone. */
async function leaveStreams(database: Database, owner: string): Promise<void> {
  await database.change(LEAVE_STREAMS, [owner])
}

/** @throws UnfitSettings */
async function openDatabase(
  { database }: DatabaseConfig,
  log: Log,
  greetings: Greetings,
): Promise<OpenDatabase> {
  const { url, durability } = database
  const server = await orUnfit(() => checkServer(url, durability))
  const { version, faults, warnings } = server
  refuseFaults(faults)
  for (const warning of warnings) log.warn(warning, { postgresql: version })
  const applied = await orUnfit(() => migrate(url))
  const fault = await orUnfit(() => countingFault(url))
  refuseFaults(fault === undefined ? [] : [fault])
  await orUnfit(() => untilDecided(url, greetings.first))
  if (applied.length > 0) log.info('made the schema', { versions: applied.join(' ') })
  return { database: new Database(url, CONNECTIONS_MAX, { greet: greetings.further }), server }
}

/** @throws UnfitSettings if there is any */
function refuseFaults(faults: readonly string[]): void {
  if (faults.length === 0) return
  throw new UnfitSettings(`the server of DATABASE_URL cannot be used: ${faults.join('; ')}`)
}

interface OpenDatabase {
  readonly database: Database
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
