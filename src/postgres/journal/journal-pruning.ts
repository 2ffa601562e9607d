// Prunes the journal: forwarded rows that no lane looks up any more. One process at a time does it.

import { MINUTE_MS, SECOND_MS } from '../../domain/time.ts'
import type { Leases } from '../../ports/leases.ts'
import type { Database } from '../server/database.ts'
import * as sql from './journal-statements.ts'

interface Collaborators {
  readonly database: Database
  readonly leases: Leases
}

const LEASE = { name: 'journal pruning', forMs: 10 * SECOND_MS }
/** Every row is kept this long: a lane may look up its outcome. */
const KEPT_MS_MIN = 5 * MINUTE_MS
const PRUNED_AT_ONCE = 1_000

export async function pruneJournal({ database, leases }: Collaborators): Promise<void> {
  if (!(await leases.take(LEASE.name, LEASE.forMs))) return
  while ((await database.change(sql.PRUNE, [KEPT_MS_MIN])) >= PRUNED_AT_ONCE);
}
