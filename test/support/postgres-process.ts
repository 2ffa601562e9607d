// One process on PostgreSQL: the journal and the control data as it has them.

import type { ClientBase } from 'pg'
import type { AcceptanceRules } from '../../src/domain/acceptance.ts'
import { DamageList } from '../../src/ingest/damage-list.ts'
import { Submissions } from '../../src/ingest/submissions.ts'
import { createControlReader } from '../../src/postgres/control/control-reader.ts'
import { createControlWriter } from '../../src/postgres/control/control-writer.ts'
import { createDeletionJobs } from '../../src/postgres/control/deletion-jobs.ts'
import { Database } from '../../src/postgres/server/database.ts'
import { PostgresForwardProgress } from '../../src/postgres/journal/forward-progress.ts'
import { PostgresJournalQueue } from '../../src/postgres/journal/journal-queue.ts'
import { PostgresSubmissionCommitter } from '../../src/postgres/stream/submission-committer.ts'
import {
  greetingOfShards,
  serversFinder,
  ShardServers,
} from '../../src/postgres/server/shard-servers.ts'
import type { FindServers, ShardServer } from '../../src/postgres/server/shard-servers.ts'
import { noticeTakeover } from '../../src/postgres/server/notice-takeover.ts'
import { createAccounts } from '../../src/postgres/verify/accounts.ts'
import { systemClock as clock } from '../../src/system/clock.ts'
import { BELIEVED } from './clock.ts'
import { PrometheusMetrics } from '../../src/metrics/metrics.ts'
import type { OpenData } from '../contract/open-data.ts'
import type { JournalQueue } from '../../src/ports/journal-queue.ts'
import { ask, newWitness } from './lanes.ts'
import { RecordingLog } from './log.ts'

let processes = 0

/** Submissions over the data of a process, as the service makes them. */
export function submissionsOver({ committer, figures: progress }: OpenData): Submissions {
  const storage = { isLow: false, describe: () => ({ detail: '', hint: '' }) }
  const metrics = new PrometheusMetrics()
  return new Submissions(
    {
      committer,
      progress,
      clock,
      clockWatch: BELIEVED,
      metrics,
      storage,
      damaged: new DamageList(),
    },
    { journalBytesMax: Infinity, isStoreApart: true },
  )
}

/**
 * @param connectionsMax to the server of the URL
 * @param finding where the data are; default: as the server of the URL says
 */
export function openServers(
  url: string,
  connectionsMax = 1,
  finding: { readonly findServers?: FindServers } = {},
): Promise<ShardServers> {
  return ShardServers.find(new Database(url, connectionsMax), url, { clock, ...finding })
}

export async function closeServers(servers: ShardServers): Promise<void> {
  await servers.close()
  await servers.main.close()
}

/** All shards through the server of DATABASE_URL, as if that had them. */
export function allIn({ main, shards }: ShardServers): ShardServer {
  return { shards: shards.numbers, database: main }
}

/** A process, with what it forwards on each server. */
export interface OpenProcess extends OpenData {
  readonly servers: ShardServers
  readonly openQueue: (server: ShardServer) => JournalQueue
}

/** From now on no process prunes the journal. */
export async function keepJournal(databaseUrl: string): Promise<void> {
  await ask(
    databaseUrl,
    `INSERT INTO leases (name, owner, until)
     SELECT 'journal pruning, shard ' || shard, 'nobody', 'infinity' FROM shards`,
  )
}

/** Opens the data as another process. */
export async function openProcess(
  databaseUrl: string,
  rules: AcceptanceRules,
): Promise<OpenProcess> {
  const owner = `process ${process.pid}.${++processes}`
  const servers = await openServers(databaseUrl, 4)
  const { main: database } = servers
  const server = allIn(servers)
  const [log, metrics] = [new RecordingLog(), new PrometheusMetrics()]
  const onAwaited = () => undefined
  const progress = new PostgresForwardProgress({ servers, clock, log, metrics, onAwaited })
  const openQueue = (of: ShardServer) => {
    const collaborators = { servers, server: of, progress, clock, log }
    return new PostgresJournalQueue(collaborators, owner)
  }
  const queue = openQueue(server)
  const onJournalled = () => queue.notify()
  const witness = newWitness({ owner })
  const greet = async (client: ClientBase) => void (await noticeTakeover(client, witness))
  const { shards, idGiver } = servers
  const findServers = serversFinder(database, databaseUrl)
  const greetLane = greetingOfShards(shards, databaseUrl, greet)
  const isSpread = shards.areSeveral
  const connecting = {
    isSpread,
    owner,
    durability: 'local',
    greet: greetLane,
    seen: witness.seen,
    findServers,
  } as const
  const committer = new PostgresSubmissionCommitter(
    { ...connecting, shards, lanes: isSpread ? 1 : 2, rules, idGiver },
    onJournalled,
  )
  const writer = createControlWriter({ servers, clock }, rules, onJournalled)
  return {
    servers,
    openQueue,
    committer,
    queue,
    jobs: createDeletionJobs(server),
    barrier: progress,
    figures: progress,
    control: createControlReader(servers),
    controlWriter: writer,
    storeUpkeep: writer,
    accounts: createAccounts(database),
    close: async () => {
      await committer.close()
      await queue.close()
      progress.close()
      await closeServers(servers)
    },
  }
}
