// The workers of a Citus cluster: which servers they are, what their own copies of the record say,
// and the streams of their shards. Each is asked by itself, so that the others are known while one
// is away.

import type pg from 'pg'
import { SECOND_MS } from '../../domain/time.ts'
import { readRow } from './connection.ts'
import { readShards } from './spread.ts'
import { noticedIn, serverIn } from './workers-text.ts'
import type { FoundServer, WorkersText } from './workers-text.ts'

/** A server of Citus. */
export interface Node {
  readonly group: number
  readonly host: string
  readonly port: number
}

/** Where a shard is. */
export interface Place extends Node {
  readonly number: number
  /** What a worker's own copy of `data_identity` is called; for that name, Citus reads any. */
  readonly identity: string
}

export interface Worker extends Node {
  readonly shards: readonly number[]
  /** `null`: it does not answer, or is a standby. */
  readonly answer: Answer | null
}

interface Answer {
  readonly server: string
  readonly streams: string | null
  /** In its own copy of the data's identity: older than the coordinator's if it was restored. */
  readonly epoch: string | null
  readonly recorded: WorkersText | null
  /** Whether it has parts of the coordinator's transactions that are neither done nor undone. */
  readonly hasPrepared: boolean
}

/**
 * In which Citus gives up connecting to workers, one after another: a second each, or their share
 * of this. However many stand still, the others are known before whoever asks is given up.
 */
const CONNECT_MS_MAX = 8 * SECOND_MS
/** Beside it. */
const ANSWER_MS_MAX = 2 * SECOND_MS

/** Every primary but the coordinator. A new one has no tables before its first shard. */
const FIND_WORKERS = `
  SELECT groupid AS "group", nodename AS host, nodeport AS port,
    (SELECT count(*) FROM pg_dist_placement AS p JOIN pg_dist_shard USING (shardid)
      WHERE p.groupid = n.groupid AND logicalrelid = to_regclass('shards'))::int AS shards,
    EXISTS (SELECT 1 FROM pg_dist_placement AS p JOIN pg_dist_shard USING (shardid)
      WHERE p.groupid = n.groupid AND logicalrelid = to_regclass('data_identity')) AS "hasTables"
  FROM pg_dist_node AS n
  WHERE noderole = 'primary' AND groupid > 0 AND isactive ORDER BY groupid`
/** Of the shards $1, as workers and their clients reach them. */
export const FIND_PLACES = `
  SELECT number, n.groupid AS "group", n.nodename AS host, n.nodeport AS port,
    (SELECT shard_name(logicalrelid, shardid) FROM pg_dist_shard
      WHERE logicalrelid = 'data_identity'::regclass) AS identity
  FROM unnest($1::int[]) AS number
  JOIN pg_dist_placement p
    ON p.shardid = get_shard_id_for_distribution_column('shards', number::smallint)
  JOIN pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary'`
/**
 * SQL: whether a worker has parts of transactions of the coordinator that have not ended there.
 * Citus would unfold the view pg_prepared_xacts, for which only a superuser has the rights.
 */
const HAS_PREPARED = `
  EXISTS (SELECT 1 FROM pg_prepared_xact() AS p JOIN pg_database AS d ON d.oid = p.dbid
    WHERE d.datname = current_database() AND p.gid LIKE 'citus\\_0\\_%')`
const ASK = `
  SELECT CASE WHEN success THEN result::json END AS answer
  FROM master_run_on_worker($1::text[], $2::int[], $3::text[], true) WITH ORDINALITY
  ORDER BY ordinality`
const OWN_SERVER = `left(pg_walfile_name(pg_current_wal_lsn()), 8) || '/' || system_identifier`
const questionTo = (shards: readonly number[], identity: string) => `
  SELECT json_build_object(
    'server', ${OWN_SERVER},
    'streams', (SELECT ${STREAMS_TEXT} FROM streams WHERE shard = ANY ('{${shards.join(',')}}')),
    'epoch', (SELECT epoch FROM ${identity}),
    'recorded', (SELECT workers FROM ${identity}),
    'hasPrepared', ${HAS_PREPARED})
  FROM pg_control_system()`
const ASK_ITSELF = `
  SELECT ${OWN_SERVER} AS server, (SELECT groupid FROM pg_dist_local_group) AS "group",
    (SELECT workers FROM data_identity) AS recorded
  FROM pg_control_system()`
const MAY_RECOVER = `
  SELECT has_function_privilege('recover_prepared_transactions()', 'execute') AS "mayRecover"`
/** Only those that nobody is at any more. */
const RECOVER = 'SELECT recover_prepared_transactions()'

/** SQL: streams as a `StreamsText`. */
export const STREAMS_TEXT = `string_agg(concat_ws(':', stream_id, head, fence), ',')`

/** Of a server of Citus; none while it has no tables of ours. */
export async function readWorkers(client: pg.ClientBase): Promise<readonly Worker[]> {
  const shards = await readShards(client)
  if (!shards.areSeveral) return []
  const workers = (await findWorkers(client)).filter(({ hasTables }) => hasTables)
  const { rows: places } = await client.query<Place>(FIND_PLACES, [shards.numbers])
  const numbersOf = (of: number) =>
    places.filter(({ group }) => group === of).map(({ number }) => number)
  const { identity = '' } = places[0] ?? {}
  const questions = workers.map(({ group }) => questionTo(numbersOf(group), identity))
  const asked = [workers.map(({ host }) => host), workers.map(({ port }) => port), questions]
  const { rows } = await inTime(client, workers.length, () =>
    client.query<Pick<Worker, 'answer'>>(ASK, asked),
  )
  return workers.map(({ group, host, port }, at) => {
    return { group, host, port, shards: numbersOf(group), answer: rows[at]?.answer ?? null }
  })
}

/** Citus waits without a limit for a worker that stands still after it has been connected. */
async function inTime<Result>(
  client: pg.ClientBase,
  workers: number,
  ask: () => Promise<Result>,
): Promise<Result> {
  const eachMs = Math.min(SECOND_MS, Math.floor(CONNECT_MS_MAX / workers))
  await client.query(`
    SET citus.node_connection_timeout = ${eachMs};
    SET statement_timeout = ${workers * eachMs + ANSWER_MS_MAX}`)
  try {
    return await ask()
  } finally {
    // In a transaction that has failed, its end does it.
    await client
      .query('RESET statement_timeout; RESET citus.node_connection_timeout')
      .then(ignore, ignore)
  }
}

function ignore(): void {}

/** A worker as the coordinator knows it. */
export interface KnownWorker extends Node {
  /** How many it has. */
  readonly shards: number
  readonly hasTables: boolean
}

export async function findWorkers(client: pg.ClientBase): Promise<readonly KnownWorker[]> {
  return (await client.query<KnownWorker & pg.QueryResultRow>(FIND_WORKERS)).rows
}

/**
 * Whether a worker, by its own copy of the record, is another server than the recorded one, or was:
 * asked over the connection to it, because the coordinator may not reach it.
 */
export async function isUndecided(client: pg.ClientBase): Promise<boolean> {
  type Row = FoundServer & { readonly recorded: WorkersText }
  const { server, group, recorded } = await readRow<Row>(client, ASK_ITSELF)
  return (serverIn(recorded, group) ?? server) !== server || noticedIn(recorded).includes(group)
}

/** Those that answered. */
export function serversOf(workers: readonly Worker[]): readonly FoundServer[] {
  return workers.flatMap(({ group, answer }) => {
    return answer === null ? [] : [{ group, server: answer.server }]
  })
}

/** Whether a transaction over nodes has not ended on all of them. */
export function havePrepared(workers: readonly Worker[]): boolean {
  return workers.some(({ answer }) => answer?.hasPrepared === true)
}

/**
 * Ends the transactions over nodes that were left by a connection, as the coordinator has recorded
 * them. Call it outside of a transaction. Without the right to do so, we wait for Citus to do it.
 */
export async function recoverPrepared(client: pg.ClientBase): Promise<void> {
  const { mayRecover } = await readRow<{ mayRecover: boolean }>(client, MAY_RECOVER)
  if (mayRecover) await client.query(RECOVER)
}
