// The core on PostgreSQL, which any number of processes may open. This process commits through its
// own lanes, forwards the streams that it leases, and keeps nothing that another process needs.

import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { pid } from 'node:process'
import { UnfitSettings } from '../config.ts'
import type { Config } from '../config.ts'
import { DamageList } from '../ingest/damage-list.ts'
import { SECOND_MS } from '../domain/time.ts'
import { StoreState } from '../ingest/forwarding.ts'
import { Submissions } from '../ingest/submissions.ts'
import type { Log } from '../ports/system.ts'
import { createControlReader } from '../postgres/control/control-reader.ts'
import { createControlWriter } from '../postgres/control/control-writer.ts'
import { Database, unlessAway } from '../postgres/server/database.ts'
import { PostgresForwardProgress } from '../postgres/journal/forward-progress.ts'
import { isAway } from '../postgres/server/failures.ts'
import { migrate } from '../postgres/server/migrate.ts'
import { checkServer } from '../postgres/server/server-check.ts'
import type { ServerState } from '../postgres/server/server-check.ts'
import { PostgresRateCounters } from '../postgres/shared/rate-counters.ts'
import { PostgresSignInCodes } from '../postgres/shared/sign-in-codes.ts'
import { countingFault } from '../postgres/stream/counting-check.ts'
import { LEAVE_STREAMS } from '../postgres/stream/lane-statements.ts'
import { PostgresSubmissionCommitter } from '../postgres/stream/submission-committer.ts'
import { PostgresMeasurementReader } from '../postgres/measurements/measurement-reader.ts'
import { PostgresServerWatch } from '../postgres/server/server-watch.ts'
import { PostgresStateFigures } from '../postgres/verify/state-figures.ts'
import { PrometheusMetrics } from '../metrics/metrics.ts'
import { withConnection } from '../postgres/server/connection.ts'
import { firstGreeting, guardOf } from '../postgres/server/greetings.ts'
import { KnownData } from '../postgres/server/recorded-server.ts'
import { startForwarding } from './database-forwarding.ts'
import type { Closers, Core, System } from './open-core.ts'

/** Besides those of lanes. */
const CONNECTIONS_MAX = 12
/** One big group is cheapest; a second lane keeps the processors busy during the fsync. */
const LANES = 2

type DatabaseConfig = Config & { readonly database: NonNullable<Config['database']> }

/** After this, connections are cut whose servers do not answer. */
const CLOSE_MS_MAX = 2 * SECOND_MS

/** The disk is the server's: only writing shows that it is full. */
const STORAGE = {
  isLow: false,
  describe: () => ({
    detail: 'The disk of the database is full.',
    hint: 'make room on the volume of PostgreSQL',
  }),
}

/**
 * @param closers receives a function to close each part as soon as it is open
 * @throws UnfitSettings if the server is not safe to use
 */
export async function openDatabase(
  config: DatabaseConfig,
  { clock, log, isForwarding }: System,
  closers: Closers,
): Promise<Omit<Core, 'close'>> {
  const { journalBytesMax } = config
  const { url, durability } = config.database
  const process = `${hostname()} ${pid}`
  const owner = `${process} ${randomUUID()}`
  const known = new KnownData()
  const server = await prepare(config, log, known)
  const guard = guardOf(known, log)
  const database = new Database(url, CONNECTIONS_MAX, { guard })
  closers.push(() => database.close())
  const of = { database, clock, log }
  const metrics = new PrometheusMetrics()
  const onAwaited = () => forwarding?.hurry()
  const progress = new PostgresForwardProgress({ ...of, metrics, onAwaited })
  closers.push(() => progress.close())
  const reader = new PostgresMeasurementReader(database)
  closers.push(() => reader.close())
  const state = new StoreState()
  const noteState = (isWorking: boolean) => state.note(isWorking)
  const onJournalled = () => forwarding?.notify()
  const writer = createControlWriter(of, config, onJournalled)
  const damaged = new DamageList()
  const lanes = { databaseUrl: url, ...guard, durability, owner, rules: config, lanes: LANES }
  const committer = new PostgresSubmissionCommitter(lanes, onJournalled)
  closers.push(() => leaveStreams(database, owner))
  closers.push(() => committer.close())
  const control = createControlReader(database)
  const watch = new PostgresServerWatch({ ...of, guard }, { process, durability, server })
  closers.push(() => watch.stop())
  const figures = new PostgresStateFigures(of, config)
  closers.push(() => figures.stop())
  // Commands end soon, so they check nothing.
  const forwarding = isForwarding
    ? startForwarding({ ...of, progress, noteState }, owner)
    : undefined
  closers.push(() => forwarding?.close())
  if (isForwarding) {
    await Promise.all([progress.look(), watch.start()])
    figures.start()
  }
  const countSetAside = () => figures.countSetAside()
  const figuresOf = { progress, journalBytesMax, store: state, countSetAside, figures, damaged }
  metrics.watch({ ...figuresOf, database: watch })
  const submissions = new Submissions(
    { committer, progress, clock, clockWatch: watch, metrics, storage: STORAGE, damaged },
    { journalBytesMax, isStoreEmbedded: false },
  )
  closers.push(() => submissions.close())
  const rateCounters = new PostgresRateCounters(of)
  closers.push(() => rateCounters.close())
  const giveUpSoon = () => cutLater([committer, database])
  closers.push(giveUpSoon)
  const codes = new PostgresSignInCodes(database)
  const shared = { rateCounters, codes, dataIdentity: watch, database: watch }
  const writers = { controlWriter: writer, storeUpkeep: writer }
  const intake = { submissions, clock, clockWatch: watch, damaged, progress }
  const store = { reader, isStoreWorking: () => state.isWorking, storeName: 'PostgreSQL' }
  return { ...intake, control, ...writers, ...store, metrics, shared, giveUpSoon }
}

/** Lets other processes take over its streams without waiting for the leases to expire. */
async function leaveStreams(database: Database, owner: string): Promise<void> {
  await unlessAway(() => database.change(LEAVE_STREAMS, [owner]), 0)
}

/** Not at once: what their servers answer in time is finished. */
function cutLater(all: readonly { cut: () => void }[]): void {
  setTimeout(() => all.forEach((one) => one.cut()), CLOSE_MS_MAX).unref()
}

/** Makes certain that the database can be used. @throws UnfitSettings */
async function prepare(
  { database }: DatabaseConfig,
  log: Log,
  known: KnownData,
): Promise<ServerState> {
  const { url, durability } = database
  const server = await orUnfit(() => checkServer(url, durability))
  const { version, faults, warnings } = server
  refuseFaults(faults)
  for (const warning of warnings) log.warn(warning, { postgresql: version })
  const applied = await orUnfit(() => migrate(url))
  const fault = await orUnfit(() => countingFault(url))
  refuseFaults(fault === undefined ? [] : [fault])
  await orUnfit(() => withConnection(url, firstGreeting(known, log)))
  if (applied.length > 0) log.info('made the schema', { versions: applied.join(' ') })
  return server
}

/** @throws UnfitSettings if there is any */
function refuseFaults(faults: readonly string[]): void {
  if (faults.length === 0) return
  throw new UnfitSettings(`the server of DATABASE_URL cannot be used: ${faults.join('; ')}`)
}

/** Missing database or permission, or a later version's schema; or the server is away. */
async function orUnfit<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const message = `the database of DATABASE_URL cannot be used: ${reason}`
    throw isAway(error) ? new Error(message, { cause: error }) : new UnfitSettings(message)
  }
}
