// The tables of a shard on Citus, and its server's copy of `data_identity`, as that server names
// them. Citus plans every statement on tables that are spread over machines anew, which costs
// several times what it does; on a shard's own tables it is PostgreSQL's work alone. Citus moves
// shards to other servers: it waits for whoever holds a shard, and who holds it then looks whether
// it is still there.

import type pg from 'pg'

const FIND = `
  SELECT logicalrelid::text AS name, id::float8 AS "shardId", shard_name(logicalrelid, id) AS own
  FROM pg_dist_partition AS p,
    LATERAL (SELECT get_shard_id_for_distribution_column(logicalrelid, $1::smallint) AS id) AS s
  WHERE colocationid = (
    SELECT colocationid FROM pg_dist_partition WHERE logicalrelid = 'shards'::regclass)`
const FIND_COPY = `
  SELECT logicalrelid::text AS name, shardid::float8 AS "shardId",
    shard_name(logicalrelid, shardid) AS own
  FROM pg_dist_shard WHERE logicalrelid = 'data_identity'::regclass`

/** Until the transaction ends: what Citus itself does before it writes. `$1` is one of its ids. */
export const HOLD_SHARD = `
  SELECT lock_shard_metadata(5, ARRAY[shardid]) FROM pg_dist_shard WHERE shardid = $1`
/** A statement of its own, because it must see what was there when the lock was granted. */
export const IS_SHARD_HERE = `
  SELECT 1 FROM pg_dist_placement
  WHERE shardid = $1 AND groupid = (SELECT groupid FROM pg_dist_local_group)`

/** Where a statement names a table. */
const TABLE = /\b((?:FROM|JOIN|INTO|UPDATE)\s+)([a-z_]+)/g

interface TableRow {
  readonly name: string
  readonly shardId: number
  readonly own: string
}

export class ShardTables {
  /** By which Citus knows one of them; all are moved together. */
  readonly shardId: number
  readonly #names: ReadonlyMap<string, string>
  readonly #texts = new Map<string, string>()

  private constructor(rows: readonly TableRow[]) {
    this.shardId = rows[0]?.shardId ?? 0
    this.#names = new Map(rows.map(({ name, own }) => [name, own]))
  }

  static async find(client: pg.ClientBase, shard: number): Promise<ShardTables> {
    const { rows } = await client.query<TableRow>(FIND, [shard])
    const copy = await client.query<TableRow>(FIND_COPY)
    return new ShardTables([...rows, ...copy.rows])
  }

  /** The statement on the shard's own tables. */
  inShard(text: string): string {
    const known = this.#texts.get(text)
    if (known !== undefined) return known
    const named = text.replace(TABLE, (whole, before: string, table: string) => {
      const own = this.#names.get(table)
      return own === undefined ? whole : before + own
    })
    this.#texts.set(text, named)
    return named
  }
}
