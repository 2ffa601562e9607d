// Prunes the journal: forwarded rows that no lane looks up any more. One process at a time does it,
// for all streams of a server.

import { MINUTE_MS, SECOND_MS } from '../../domain/time.ts'
import type { Leases } from '../../ports/leases.ts'
import type { ShardServer } from '../server/shard-servers.ts'
import * as sql from './journal-statements.ts'

interface Collaborators {
  readonly server: ShardServer
  readonly leases: Leases
}

const LEASE = { name: 'journal pruning', forMs: 10 * SECOND_MS }
/** Every row is kept this long: a lane may look up its outcome. */
const KEPT_MS_MIN = 5 * MINUTE_MS
const PRUNED_AT_ONCE = 1_000

export async function pruneJournal({ server, leases }: Collaborators): Promise<void> {
  if (!(await leases.take(LEASE.name, LEASE.forMs))) return
  for (const shard of server.shards) {
    while ((await server.database.change(sql.PRUNE, [shard, KEPT_MS_MIN])) >= PRUNED_AT_ONCE);
  }
}
