// Aligns the nodes of a Citus cluster while a takeover is decided. A node that was restored lacks
// its part of transactions over nodes that the others have: its copies of small tables differ, and
// a user may be half there, because `users` is copied to every node while `user_state` is on one.
//
// The copies become those of the coordinator or, if that was restored, of a worker that was not. A
// user's own node knows whether they are there; if it was restored, the copies know. Whoever is not
// there gets deleted like any user. test/postgres/model/nodes.ts walks through these steps.

import type pg from 'pg'
import type { Shards } from '../../domain/shard.ts'
import { TakeoverUndecided } from './connection.ts'
import type { Look } from './recorded-server.ts'
import { readShards } from './spread.ts'
import { askNodes, HAS_PREPARED } from './workers.ts'
import type { Worker } from './workers.ts'
import { COORDINATOR } from './workers-text.ts'

/** A table that every node has a copy of. */
interface Copied {
  readonly name: string
  /** What a node's own copy is called. */
  readonly copy: string
}

interface CopiesOf {
  readonly print: string
  readonly hasPrepared: boolean
}

/** Statements for many shards see what the transaction has changed before. */
const SEQUENTIAL = `
  SET LOCAL citus.multi_shard_modify_mode = 'sequential'; SET LOCAL client_min_messages = error`
/** Others refer to `users`. */
const FIND_COPIED = `
  SELECT s.logicalrelid::text AS name, shard_name(s.logicalrelid, s.shardid) AS copy
  FROM pg_dist_partition AS p JOIN pg_dist_shard AS s USING (logicalrelid)
  WHERE p.partmethod = 'n' AND p.repmodel = 't'
  ORDER BY s.logicalrelid <> 'users'::regclass, name`
/** Written only by whoever has locked the record of the server, for which others wait. */
const LOCKED_ALREADY = ['data_identity', 'takeovers']
const lock = (tables: readonly string[]) => `LOCK TABLE ${tables.join(', ')} IN EXCLUSIVE MODE`
const printOf = ({ copy }: Copied) => `
  (SELECT count(*) || '/' || coalesce(sum(hashtextextended(t::text, 0)), 0) FROM ${copy} AS t)`
const compareCopies = (tables: readonly Copied[]) => `
  SELECT json_build_object('print', concat_ws(' ', ${tables.map(printOf).join(', ')}),
    'hasPrepared', ${HAS_PREPARED}) AS copies`
const makeKept = ({ name }: Copied) =>
  `CREATE TEMP TABLE kept_${name} (LIKE ${name}) ON COMMIT DROP`
const keepOwn = ({ name, copy }: Copied) => `INSERT INTO kept_${name} SELECT * FROM ${copy}`
const readAll = ({ copy }: Copied) => `SELECT coalesce(json_agg(t), '[]') FROM ${copy} AS t`
const keepFrom = ({ name }: Copied) => `
  INSERT INTO kept_${name}
  SELECT r.* FROM master_run_on_worker(ARRAY[$1::text], ARRAY[$2::int], ARRAY[$3::text], false) AS w
    CROSS JOIN json_populate_recordset(NULL::${name}, w.result::json) AS r`

const READ_USERS = `SELECT id FROM users`
const READ_STATES = `SELECT user_id AS id FROM user_state`
const DROP_USERS = 'DELETE FROM users WHERE id = ANY ($1::int[])'
const DROP_STATES = `
  DELETE FROM user_state WHERE shard = ANY ($1::smallint[]) AND user_id = ANY ($2::int[])`
const ORDER_DELETIONS = `
  INSERT INTO user_deletions (shard, user_id) SELECT * FROM unnest($1::smallint[], $2::int[])
  ON CONFLICT (shard, user_id) DO NOTHING`
const DROP_DELETIONS = `
  DELETE FROM user_deletions WHERE shard = ANY ($1::smallint[]) AND user_id = ANY ($2::int[])`
const COUNT_SENSORS = `
  SELECT user_id AS id, count(*) FILTER (WHERE deleted_at_ms IS NULL)::int AS sensors,
    max(changed_at_settings) AS settings
  FROM sensors WHERE shard = ANY ($1::smallint[]) AND user_id = ANY ($2::int[]) GROUP BY user_id`
const ADD_STATES = `
  INSERT INTO user_state (shard, user_id, sensors, settings)
  SELECT * FROM unnest($1::smallint[], $2::int[], $3::int[], $4::bigint[])`

/**
 * Call it in the transaction that decides, with the record of the server locked. On a single server
 * there is nothing to do.
 *
 * @param restored the groups of nodes that may be
 * @throws TakeoverUndecided: a transaction over nodes has not ended on all of them
 */
export async function alignNodes(
  client: pg.ClientBase,
  { server: { workers } }: Look,
  restored: readonly number[],
): Promise<void> {
  if (workers.length === 0) return
  await client.query(SEQUENTIAL)
  const { rows: tables } = await client.query<Copied & pg.QueryResultRow>(FIND_COPIED)
  const written = tables.map(({ name }) => name).filter((name) => !LOCKED_ALREADY.includes(name))
  // From here on, nobody begins or ends a transaction that writes copies.
  await client.query(lock(written))
  await alignCopies(client, { tables, workers }, restored)
  await alignUsers(client, workers, restored)
}

async function alignCopies(
  client: pg.ClientBase,
  { tables, workers }: { tables: readonly Copied[]; workers: readonly Worker[] },
  restored: readonly number[],
): Promise<void> {
  const question = compareCopies(tables)
  const { rows } = await client.query<{ copies: CopiesOf }>(question)
  const found = await askNodes<CopiesOf>(
    client,
    workers,
    workers.map(() => question),
  )
  if (found.some((copies) => copies === null || copies.hasPrepared)) throw new TakeoverUndecided()
  if (found.every((copies) => copies?.print === rows[0]?.copies.print)) return
  const source = restored.includes(COORDINATOR)
    ? workers.find(({ group }) => !restored.includes(group))
    : undefined
  for (const table of tables) {
    await client.query(makeKept(table))
    if (source === undefined) await client.query(keepOwn(table))
    else await client.query(keepFrom(table), [source.host, source.port, readAll(table)])
  }
  for (const { name } of tables) await client.query(`DELETE FROM ${name}`)
  for (const { name } of tables)
    await client.query(`INSERT INTO ${name} SELECT * FROM kept_${name}`)
}

async function alignUsers(
  client: pg.ClientBase,
  workers: readonly Worker[],
  restored: readonly number[],
): Promise<void> {
  const shards = await readShards(client)
  const restoredShards = new Set(
    workers.filter(({ group }) => restored.includes(group)).flatMap((worker) => worker.shards),
  )
  const users = await readIds(client, READ_USERS)
  const withState = await readIds(client, READ_STATES)
  const halves = [...users].filter((id) => !withState.has(id))
  const lacking = halves.filter((id) => restoredShards.has(shards.of(id)))
  const gone = halves.filter((id) => !restoredShards.has(shards.of(id)))
  await addStates(client, shards, lacking)
  await client.query(DROP_USERS, [gone])
  const ownerless = placesOf(
    shards,
    [...withState].filter((id) => !users.has(id)),
  )
  await client.query(DROP_STATES, ownerless)
  await client.query(ORDER_DELETIONS, ownerless)
}

/** With the sensors that are there: those of a user whose deletion was lost may be. */
async function addStates(
  client: pg.ClientBase,
  shards: Shards,
  ids: readonly number[],
): Promise<void> {
  type Row = { readonly id: number; readonly sensors: number; readonly settings: number }
  const places = placesOf(shards, ids)
  await client.query(DROP_DELETIONS, places)
  const { rows } = await client.query<Row>(COUNT_SENSORS, places)
  const counted = new Map(rows.map((row) => [row.id, row]))
  const sensors = ids.map((id) => counted.get(id)?.sensors ?? 0)
  const settings = ids.map((id) => counted.get(id)?.settings ?? 0)
  await client.query(ADD_STATES, [...places, sensors, settings])
}

async function readIds(client: pg.ClientBase, text: string): Promise<ReadonlySet<number>> {
  const { rows } = await client.query<{ id: number }>(text)
  return new Set(rows.map(({ id }) => id))
}

/** Values of `$1` and `$2`. */
function placesOf(shards: Shards, ids: readonly number[]): [number[], readonly number[]] {
  return [ids.map((id) => shards.of(id)), ids]
}
