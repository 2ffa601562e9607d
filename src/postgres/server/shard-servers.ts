// Which server has a shard. On a single server all are there; on Citus each is on one worker.

import type pg from 'pg'
import type { Shards } from '../../domain/shard.ts'
import { SECOND_MS } from '../../domain/time.ts'
import { addressesOf, connectAlone } from './connection.ts'
import type { Database } from './database.ts'

/** Where Citus has a shard, as workers and their clients reach it. */
const FIND_NODE = `
  SELECT n.nodename AS host, n.nodeport AS port
  FROM pg_dist_placement p JOIN pg_dist_node n USING (groupid)
  WHERE p.shardid = get_shard_id_for_distribution_column('shards', $1::smallint)
    AND n.noderole = 'primary'`

/**
 * Finds the server that has a shard, by its URL: on Citus that of a worker, which has the same
 * databases and users. What is of one shard is best sent there: nothing else takes part in it.
 */
export function serverFinder(
  database: Pick<Database, 'rows' | 'readShards'>,
  databaseUrl: string,
): (shard: number) => Promise<string> {
  return async (shard) => {
    if ((await database.readShards()).numbers.length === 1) return databaseUrl
    const found = await database.rows<{ host: string; port: number }>(FIND_NODE, [shard])
    const [node] = found
    if (node === undefined) throw new Error(`BUG: shard ${shard} is nowhere`)
    return urlAt(databaseUrl, node)
  }
}

/** The URL of another server with the same database and user. */
export function urlAt(databaseUrl: string, { host, port }: { host: string; port: number }): string {
  const [address = ''] = addressesOf(databaseUrl)
  const place = `host=${encodeURIComponent(host)}&port=${port}`
  return `${address}${address.includes('?') ? '&' : '?'}${place}`
}

type Greeting = (client: pg.ClientBase) => Promise<void>

const GREETING_MS_MAX = 10 * SECOND_MS

/**
 * What a connection to the server of a shard begins with: with several shards, the coordinator is
 * asked whether each worker is the recorded one. The connection was opened before, so it is lost if
 * its worker is replaced later.
 *
 * @param greet of connections to the server of the URL
 */
export function greetingOfShards(
  { numbers }: Shards,
  databaseUrl: string,
  greet: Greeting,
): Greeting {
  if (numbers.length === 1) return greet
  return async () => {
    const opening = { greet, statementMsMax: GREETING_MS_MAX }
    await (await connectAlone(databaseUrl, false, opening)).end()
  }
}
