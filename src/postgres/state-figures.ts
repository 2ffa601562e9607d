// Which data these are, and figures of what is in them, for monitoring. A scrape reads those of
// the last look, so that it never waits for the database.

import { SECOND_MS } from '../domain/time.ts'
import type { DataIdentity } from '../ports/control-reader.ts'
import type { Clock, Log } from '../ports/system.ts'
import type { Database } from './database.ts'
import type { Durability } from './durability.ts'
import { readWarnings } from './server-check.ts'

const LOOK_EVERY_MS = SECOND_MS
/** A scan of all sensors. */
const COUNT_EVERY_MS = 15 * SECOND_MS

const IDENTITY = 'SELECT id, restored_to_ms AS "restoredToMs" FROM data_identity'
const COUNTS = `
  SELECT (SELECT count(*) FROM sensor_state) AS registered,
    (SELECT count(*) FROM sensor_state WHERE last_seen_at_ms >= $1 AND measured_at_ms >= $1)
      AS online,
    (SELECT count(*) FROM sensor_deletions) AS deletions,
    (SELECT count(*) FROM set_aside) AS "setAside",
    (SELECT min(s.deleted_at_ms) FROM sensor_deletions d
      JOIN sensors s ON s.bucket = d.bucket AND s.id = d.sensor_id) AS "deletedAtMs",
    (SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'ledger'::regclass) AS events`

interface Counts {
  readonly registered: number
  readonly online: number
  readonly deletions: number
  readonly setAside: number
  readonly deletedAtMs: number | null
  /** As of the last analysis of the table. */
  readonly events: number
}

const NONE: Counts = {
  registered: 0,
  online: 0,
  deletions: 0,
  setAside: 0,
  deletedAtMs: null,
  events: 0,
}

export class PostgresStateFigures implements DataIdentity {
  readonly #database: Database
  readonly #clock: Clock
  readonly #log: Log
  readonly #offlineAfterMs: number
  readonly #durability: Durability
  #timer: NodeJS.Timeout | undefined
  #isLooking = false
  #countedAtMs = -Infinity
  #identity: DataIdentity
  #warnings: readonly string[] = []
  #counts: Counts = NONE

  constructor(
    of: { readonly database: Database; readonly clock: Clock; readonly log: Log },
    settings: {
      readonly offlineAfterMs: number
      readonly durability: Durability
      readonly identity: DataIdentity
    },
  ) {
    this.#database = of.database
    this.#clock = of.clock
    this.#log = of.log
    this.#offlineAfterMs = settings.offlineAfterMs
    this.#durability = settings.durability
    this.#identity = settings.identity
  }

  get id(): string {
    return this.#identity.id
  }

  get restoredToMs(): number | null {
    return this.#identity.restoredToMs
  }

  /** What an operator should know of the server. */
  get warnings(): readonly string[] {
    return this.#warnings
  }

  sensors(): { registered: number; online: number } {
    return this.#counts
  }

  sensorDeletions(): { count: number; oldestAgeMs: number } {
    const { deletions, deletedAtMs } = this.#counts
    const nowMs = this.#clock.nowMs()
    return { count: deletions, oldestAgeMs: Math.max(0, nowMs - (deletedAtMs ?? nowMs)) }
  }

  async countSetAside(): Promise<number> {
    return Promise.resolve(this.#counts.setAside)
  }

  events(): number {
    return this.#counts.events
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.#look(), LOOK_EVERY_MS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    try {
      const [identity] = await this.#database.rows<DataIdentity>(IDENTITY)
      if (identity !== undefined) this.#identity = identity
      const nowMs = this.#clock.monotonicMs()
      if (nowMs < this.#countedAtMs + COUNT_EVERY_MS) return
      this.#countedAtMs = nowMs
      const since = this.#clock.nowMs() - this.#offlineAfterMs
      const [counts] = await this.#database.rows<Counts>(COUNTS, [since])
      if (counts !== undefined) this.#counts = counts
      this.#warnings = await readWarnings(this.#database, this.#durability)
    } catch (error) {
      this.#log.debug('cannot read the figures now', { error: String(error) })
    } finally {
      this.#isLooking = false
    }
  }
}
