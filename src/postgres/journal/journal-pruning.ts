// Prunes the journal: forwarded rows that no lane looks up any more, and that are not kept for a
// store that may lose data. One process at a time does it, for all streams of a server.

import { MINUTE_MS, SECOND_MS } from '../../domain/time.ts'
import type { Leases } from '../../ports/leases.ts'
import type { Clock } from '../../ports/system.ts'
import type { ShardServer } from '../server/shard-servers.ts'
import * as sql from './journal-statements.ts'

/** How many forwarded rows are kept for a replay. */
export interface ReplayRetention {
  readonly keptMs: number
  /** Beyond this, the oldest rows are pruned earlier. */
  readonly measurementsMax: number
}

interface Collaborators {
  readonly server: ShardServer
  readonly leases: Leases
  readonly clock: Clock
}

const LEASE = { name: 'journal pruning', forMs: 10 * SECOND_MS }
/** Every row is kept this long: a lane may look up its outcome. */
const KEPT_MS_MIN = 5 * MINUTE_MS
const COUNT_EVERY_MS = 10 * MINUTE_MS
const PRUNED_AT_ONCE = 1_000

export class JournalPruning {
  readonly #with: Collaborators
  readonly #retention: ReplayRetention | undefined
  #countedAtMs = -Infinity
  /** Rows committed before then exceed `measurementsMax`. */
  #tooMuchBeforeMs = 0

  constructor(of: Collaborators, retention: ReplayRetention | undefined) {
    this.#with = of
    this.#retention = retention
  }

  async prune(): Promise<void> {
    const { server, leases } = this.#with
    if (!(await leases.take(LEASE.name, LEASE.forMs))) return
    if (this.#retention !== undefined) await this.#count(this.#retention)
    const bounds = [KEPT_MS_MIN, this.#retention?.keptMs ?? 0, this.#tooMuchBeforeMs]
    for (const shard of server.shards) {
      while ((await server.database.change(sql.PRUNE, [shard, ...bounds])) >= PRUNED_AT_ONCE);
    }
  }

  async #count({ measurementsMax }: ReplayRetention): Promise<void> {
    const { server, clock } = this.#with
    if (clock.monotonicMs() < this.#countedAtMs + COUNT_EVERY_MS) return
    const values = [server.shards, measurementsMax]
    const [row] = await server.database.rows<{ atMs: number }>(sql.KEPT_SINCE, values)
    this.#tooMuchBeforeMs = row === undefined ? 0 : row.atMs + 1
    this.#countedAtMs = clock.monotonicMs()
  }
}
