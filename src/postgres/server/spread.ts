// Tables that grow, spread over the machines of a Citus cluster by their shard.

import type pg from 'pg'
import { firstStreamOf, ONE_SHARD, Shards } from '../../domain/shard.ts'

/**
 * SQL, before rows that a statement inserts into the shard `own.shard = $1`. Joined with a row of
 * that shard, they are inserted on its machine; Citus would gather them on the coordinator first.
 */
export const OF_SHARD = 'shards AS own CROSS JOIN'

const STREAMS_OF_SHARD = firstStreamOf(1)
/** SQL, of a row with a `shard`: as `firstStreamOf` in domain/shard.ts. */
export const FIRST_STREAM = `shard::int * ${STREAMS_OF_SHARD}`
/** SQL: the number of a stream among those of its shard, from 0 on. */
export const numberInShard = (stream: string) => `(${stream} & ${STREAMS_OF_SHARD - 1})`

/** SQL, of a row with a `user_id`: as `Shards.of` in domain/shard.ts, for the numbers `$1`. */
export const SHARD_OF_USER = `
  ($1::int[])[1 + ((user_id::bigint * 2654435761) % 4294967296) * cardinality($1::int[])
    / 4294967296]`

/**
 * SQL: `$1` ids of a sequence. They are given out before another server commits what has them, so
 * something is logged with them, and their own commit waits until it is on disk: a sequence alone
 * may give them again after a crash.
 */
export const takeIds = (sequence: string) => `
  SELECT nextval('${sequence}')::float8 AS id FROM generate_series(1, $1),
    (SELECT pg_logical_emit_message(true, 'thermolog', '') OFFSET 0) AS logged`

const HAS_IDENTITY = `SELECT to_regclass('data_identity') IS NOT NULL AS "hasIdentity"`
const READ_SHARDS = 'SELECT shards AS numbers FROM data_identity'

/** Before the first migration there is one. */
export async function readShards(client: pg.ClientBase): Promise<Shards> {
  const { rows: found } = await client.query<{ hasIdentity: boolean }>(HAS_IDENTITY)
  if (found[0]?.hasIdentity !== true) return ONE_SHARD
  const { rows } = await client.query<{ numbers: number[] }>(READ_SHARDS)
  return rows[0] === undefined ? ONE_SHARD : new Shards(rows[0].numbers)
}
