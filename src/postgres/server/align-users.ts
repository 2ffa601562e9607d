// Aligns the users of a Citus cluster while a takeover is decided. `users` is on the coordinator
// while `user_state` is on the worker of the user's shard: where one of the two was restored, a
// user may be half there.
//
// The user's own worker knows whether they are there; if it was restored, the coordinator knows.
// Where nobody knows they stay. test/postgres/model/nodes.ts walks through these steps.

import type pg from 'pg'
import type { Shards } from '../../domain/shard.ts'
import { TakeoverUndecided } from './connection.ts'
import type { Look } from './recorded-server.ts'
import { readShards } from './spread.ts'
import { SERVER_TIME_MS } from './server-time.ts'
import { havePrepared, readWorkers } from './workers.ts'
import { COORDINATOR } from './workers-text.ts'

/** Statements for many shards see what the transaction has changed before. */
const SEQUENTIAL = `SET LOCAL citus.multi_shard_modify_mode = 'sequential'`
/** From then on, nobody makes or deletes a user. */
const LOCK_USERS = 'LOCK TABLE users IN EXCLUSIVE MODE'
const READ_USERS = 'SELECT id FROM users'
const READ_STATES = 'SELECT user_id AS id FROM user_state'
const DROP_USERS = 'DELETE FROM users WHERE id = ANY ($1::int[])'
/** What the coordinator knew of them is lost: an operator gives them their address again. */
const ADD_USERS = `
  INSERT INTO users (id, email, email_key, name, created_at_ms)
  SELECT id, address, address, '', ${SERVER_TIME_MS}
  FROM unnest($1::int[]) AS id,
    LATERAL (SELECT 'user-' || id || '@restored.invalid' AS address) AS a`
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
export async function alignUsers(
  client: pg.ClientBase,
  { server: { workers } }: Look,
  restored: readonly number[],
): Promise<void> {
  if (workers.length === 0) return
  await client.query(SEQUENTIAL)
  await client.query(LOCK_USERS)
  if (havePrepared(await readWorkers(client))) throw new TakeoverUndecided()
  const shards = await readShards(client)
  const own = workers.filter(({ group }) => restored.includes(group))
  const restoredShards = new Set(own.flatMap((worker) => worker.shards))
  const isRestored = (id: number) => restoredShards.has(shards.of(id))
  const users = await readIds(client, READ_USERS)
  const withState = await readIds(client, READ_STATES)
  const stateless = [...users].filter((id) => !withState.has(id))
  const ownerless = [...withState].filter((id) => !users.has(id))
  const mayStay = (id: number) => restored.includes(COORDINATOR) || !isRestored(id)
  await addStates(client, shards, stateless.filter(isRestored))
  await client.query(DROP_USERS, [stateless.filter((id) => !isRestored(id))])
  await client.query(ADD_USERS, [ownerless.filter(mayStay)])
  const gone = placesOf(
    shards,
    ownerless.filter((id) => !mayStay(id)),
  )
  await client.query(DROP_STATES, gone)
  await client.query(ORDER_DELETIONS, gone)
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
