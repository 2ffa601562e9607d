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
import { untilDecided } from '../postgres/server/notice-takeover.ts'
import { greetingOfShards, serversFinder, ShardServers } from '../postgres/server/shard-servers.ts'
import type { ShardServer } from '../postgres/server/shard-servers.ts'
import { SeenStreams } from '../postgres/server/seen-streams.ts'
import { PostgresMeasurementReader } from '../postgres/measurements/measurement-reader.ts'
import { PostgresServerWatch } from '../postgres/server/server-watch.ts'
import { PostgresStateFigures } from '../postgres/verify/state-figures.ts'
import { PrometheusMetrics } from '../metrics/metrics.ts'
import { greetingsOf } from '../postgres/server/greetings.ts'
import type { Greetings } from '../postgres/server/greetings.ts'
import type { Closers, Core, System } from './open-core.ts'
import { ServerForwardings } from './server-forwardings.ts'

/** Besides those of lanes. */
const CONNECTIONS_MAX = 12
/**
 * Of each shard. On a single server, one big group is cheapest; a second lane keeps the processors
 * busy during the fsync of the first.
 */
const LANES = { ofOnlyShard: 2, ofEachShard: 1 }

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
  const process = `${hostname()} ${pid}`
  const owner = `${process} ${randomUUID()}`
  const seen = new SeenStreams(clock)
  const { durability } = config.database
  const greetings = greetingsOf({ owner, durability, seen, log })
  const { database, server } = await connect(config, log, greetings)
  closers.push(() => database.close())
  const greet = greetings.further
  const servers = await ShardServers.find(database, config.database.url, { clock, greet })
  closers.push(() => servers.close())
  const of = { servers, clock, log }
  const metrics = new PrometheusMetrics()
  const onAwaited = () => forwardings.hurry()
  const progress = new PostgresForwardProgress({ ...of, metrics, onAwaited })
  closers.push(() => progress.close())
  const reader = new PostgresMeasurementReader(servers)
  closers.push(() => reader.close())
  const state = new StoreState()
  const forwardings = new ServerForwardings({ ...of, progress, state }, owner)
  const onJournalled = () => forwardings.notify()
  const writer = createControlWriter(of, config, onJournalled)
  const damaged = new DamageList()
  const settings = { ...lanesOf(servers, config, greetings), rules: config, owner, seen }
  const committer = new PostgresSubmissionCommitter(settings, onJournalled)
  closers.push(() => leaveStreams(servers.all, owner))
  closers.push(() => committer.close())
  const control = createControlReader(servers)
  closers.push(() => forwardings.close())
  const identity = await control.readDataIdentity()
  const notice = servers.shards.areSeveral ? { notice: greet } : {}
  const watched = { process, durability, identity, server, ...notice }
  const watch = new PostgresServerWatch({ ...of, database, seen }, watched)
  closers.push(() => watch.stop())
  const figures = new PostgresStateFigures({ ...of, database }, config)
  closers.push(() => figures.stop())
  // Commands end soon, so they check nothing.
  if (isForwarding) {
    if (servers.shards.areSeveral) await markEarly(database, greetings)
    forwardings.start()
    await Promise.all([progress.look(), watch.start()])
    figures.start()
  }
  const countSetAside = () => figures.countSetAside()
  const figuresOf = { progress, journalBytesMax, store: state, countSetAside, figures, damaged }
  metrics.watch({ ...figuresOf, database: watch })
  const submissions = new Submissions(
    { committer, progress, clock, clockWatch: watch, metrics, storage: STORAGE, damaged },
    { journalBytesMax, isStoreApart: true },
  )
  closers.push(() => submissions.close())
  const rateCounters = new PostgresRateCounters({ ...of, database })
  closers.push(() => rateCounters.close())
  const giveUpSoon = () => cutLater([committer, servers])
  closers.push(giveUpSoon)
  const codes = new PostgresSignInCodes(database)
  const shared = { rateCounters, codes, dataIdentity: watch, database: watch }
  const writers = { controlWriter: writer, storeUpkeep: writer }
  const intake = { submissions, clock, clockWatch: watch, damaged, progress }
  const store = { reader, isStoreWorking: () => state.isWorking, storeName: 'PostgreSQL' }
  return { ...intake, control, ...writers, ...store, metrics, shared, giveUpSoon }
}

/** The first submission would mark the data, on all nodes: best now, while none is away. */
function markEarly(database: Database, { lane }: Greetings): Promise<void> {
  return unlessAway(() => database.onClient(lane), undefined)
}

/** How many lanes a process has, and how they reach the servers of their shards. */
function lanesOf(
  { main, shards, idGiver }: ShardServers,
  config: DatabaseConfig,
  greetings: Greetings,
) {
  const { url, durability } = config.database
  const isSpread = shards.areSeveral
  return {
    shards,
    isSpread,
    durability,
    lanes: isSpread ? LANES.ofEachShard : LANES.ofOnlyShard,
    findServers: serversFinder(main, url),
    greet: greetingOfShards(shards, url, greetings.lane),
    idGiver,
  }
}

/** Lets other processes take over its streams without waiting for the leases to expire. */
async function leaveStreams(all: readonly ShardServer[], owner: string): Promise<void> {
  const leave = ({ database, shards }: ShardServer) =>
    unlessAway(() => database.change(LEAVE_STREAMS, [shards, owner]), 0)
  // At the same time: one of them may be away.
  await Promise.all(all.map(leave))
}

/** Not at once: what their servers answer in time is finished. */
function cutLater(all: readonly { cut: () => void }[]): void {
  setTimeout(() => all.forEach((one) => one.cut()), CLOSE_MS_MAX).unref()
}

/** @throws UnfitSettings */
async function connect(
  { database }: DatabaseConfig,
  log: Log,
  greetings: Greetings,
): Promise<{ database: Database; server: ServerState }> {
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
