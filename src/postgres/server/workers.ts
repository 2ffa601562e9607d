// The workers of a Citus cluster: which servers they are, and the streams of their shards. Each is
// asked by itself, so that the others are known while one is away.

import type pg from 'pg'
import { readShards } from './spread.ts'

/** `group=timeline/system identifier,…`: Citus numbers a worker and its standbys as one group. */
export type WorkersText = string

interface Node {
  readonly group: number
  readonly host: string
  readonly port: number
}

interface Place {
  readonly group: number
  readonly number: number
}

export interface Worker {
  readonly group: number
  readonly shards: readonly number[]
  /** `null`: it does not answer, or is a standby. */
  readonly answer: { readonly server: string; readonly streams: string | null } | null
}

/** Every primary but the coordinator. */
const FIND_WORKERS = `
  SELECT groupid AS "group", nodename AS host, nodeport AS port FROM pg_dist_node
  WHERE noderole = 'primary' AND groupid > 0 AND isactive ORDER BY groupid`
/** Of the shards $1. */
const FIND_PLACES = `
  SELECT number, p.groupid AS "group"
  FROM unnest($1::int[]) AS number
  JOIN pg_dist_placement p
    ON p.shardid = get_shard_id_for_distribution_column('shards', number::smallint)`
const ASK = `
  SELECT CASE WHEN success THEN result::json END AS answer
  FROM master_run_on_worker($1::text[], $2::int[], $3::text[], true) WITH ORDINALITY
  ORDER BY ordinality`
const questionTo = (shards: readonly number[]) => `
  SELECT json_build_object(
    'server', left(pg_walfile_name(pg_current_wal_lsn()), 8) || '/' || system_identifier,
    'streams', (SELECT ${STREAMS_TEXT} FROM streams WHERE shard = ANY ('{${shards.join(',')}}')))
  FROM pg_control_system()`

/** SQL: streams as a `StreamsText`. */
export const STREAMS_TEXT = `string_agg(concat_ws(':', stream_id, head, fence), ',')`

/** None without Citus, or while it has no tables of ours. */
export async function readWorkers(client: pg.ClientBase): Promise<readonly Worker[]> {
  const { numbers } = await readShards(client)
  if (numbers.length === 1) return []
  const workers = await findWorkers(client)
  const { rows: places } = await client.query<Place>(FIND_PLACES, [numbers])
  const shardsOf = ({ group }: Node) =>
    places.filter((place) => place.group === group).map(({ number }) => number)
  const { rows } = await client.query<Pick<Worker, 'answer'>>(ASK, [
    workers.map(({ host }) => host),
    workers.map(({ port }) => port),
    workers.map((worker) => questionTo(shardsOf(worker))),
  ])
  return workers.map((worker, at) => {
    const { group } = worker
    return { group, shards: shardsOf(worker), answer: rows[at]?.answer ?? null }
  })
}

export async function findWorkers(client: pg.ClientBase): Promise<readonly Node[]> {
  return (await client.query<Node & pg.QueryResultRow>(FIND_WORKERS)).rows
}

/** Those that answered. */
export function workersText(workers: readonly Worker[]): WorkersText {
  return workers
    .flatMap(({ group, answer }) => (answer === null ? [] : [`${group}=${answer.server}`]))
    .join(',')
}

/** Whether all that answered are recorded as they are. */
export function areRecorded(found: WorkersText, recorded: WorkersText): boolean {
  const known = serversOf(recorded)
  return [...serversOf(found)].every(([group, server]) => known.get(group) === server)
}

/** Whether one that is recorded is another server now; a new worker is not. */
export function isOneOther(found: WorkersText, recorded: WorkersText): boolean {
  const known = serversOf(recorded)
  return [...serversOf(found)].some(([group, server]) => (known.get(group) ?? server) !== server)
}

/** What is recorded, with those that answered as they are now. */
export function recordedWith(found: WorkersText, recorded: WorkersText): WorkersText {
  const all = new Map([...serversOf(recorded), ...serversOf(found)])
  return [...all].map(([group, server]) => `${group}=${server}`).join(',')
}

function serversOf(text: WorkersText): ReadonlyMap<string, string> {
  const workers = text === '' ? [] : text.split(',')
  return new Map(workers.map((one) => one.split('=', 2) as [string, string]))
}
