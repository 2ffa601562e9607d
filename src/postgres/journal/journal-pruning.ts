// Prunes the journal: rows that are forwarded, that nobody looks for any more, and that are not
// kept for a store that may lose what it has. One process does it at a time, for all streams.

import { MINUTE_MS, SECOND_MS } from '../../domain/time.ts'
import type { Leases } from '../../ports/leases.ts'
import type { Clock } from '../../ports/system.ts'
import type { Database } from '../server/database.ts'
import * as sql from './journal-statements.ts'

/** What of the forwarded rows is kept for a replay; nothing where the store loses nothing. */
export interface ReplayRetention {
  readonly keptMs: number
  /** Beyond this the oldest rows go earlier. */
  readonly measurementsMax: number
}

interface Collaborators {
  readonly database: Database
  readonly leases: Leases
  readonly clock: Clock
}

const LEASE = { name: 'journal pruning', forMs: 10 * SECOND_MS }
/** Rows of the journal stay this long at least: their outcome may be looked up. */
const KEPT_MS_MIN = 5 * MINUTE_MS
const COUNT_EVERY_MS = 10 * MINUTE_MS
const PRUNED_AT_ONCE = 1_000

export class JournalPruning {
  readonly #with: Collaborators
  readonly #retention: ReplayRetention | undefined
  #countedAtMs = -Infinity
  /** What was committed before then is more than may be kept. */
  #tooMuchBeforeMs = 0

  constructor(of: Collaborators, retention: ReplayRetention | undefined) {
    this.#with = of
    this.#retention = retention
  }

  async prune(): Promise<void> {
    const { database, leases } = this.#with
    if (!(await leases.take(LEASE.name, LEASE.forMs))) return
    if (this.#retention !== undefined) await this.#count(this.#retention)
    const bounds = [KEPT_MS_MIN, this.#retention?.keptMs ?? 0, this.#tooMuchBeforeMs]
    while ((await database.change(sql.PRUNE, bounds)) >= PRUNED_AT_ONCE);
  }

  async #count({ measurementsMax }: ReplayRetention): Promise<void> {
    const { database, clock } = this.#with
    if (clock.monotonicMs() < this.#countedAtMs + COUNT_EVERY_MS) return
    const [row] = await database.rows<{ atMs: number }>(sql.KEPT_SINCE, [measurementsMax])
    this.#tooMuchBeforeMs = row === undefined ? 0 : row.atMs + 1
    this.#countedAtMs = clock.monotonicMs()
  }
}
