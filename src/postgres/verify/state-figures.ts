// Figures of the database's contents, for monitoring. A scrape reads those of the last look, so
// that it never waits for the database.

import { isOnlineAt } from '../../control/sensors.ts'
import { onlineTimes } from '../../domain/sensor.ts'
import type { OnlineSettings } from '../../domain/sensor.ts'
import { SECOND_MS } from '../../domain/time.ts'
import type { Clock, Log } from '../../ports/system.ts'
import type { Database } from '../server/database.ts'

/** Each count scans all sensors. */
const COUNT_EVERY_MS = 15 * SECOND_MS

const COUNTS = `
  SELECT states.*, deletions.*, (SELECT count(*) FROM set_aside) AS "setAside"
  FROM (
    SELECT count(*) AS registered,
      count(*) FILTER (WHERE ${isOnlineAt('$1', '$2')}) AS online,
      coalesce(max(last_seen_at_ms), 0) AS "lastSeenAtMs"
    FROM sensor_state t) AS states
  CROSS JOIN (
    SELECT count(*) AS deletions, min(s.deleted_at_ms) AS "deletedAtMs"
    FROM sensor_deletions d LEFT JOIN sensors s ON s.id = d.sensor_id
  ) AS deletions`
const EVENTS = `
  SELECT greatest(reltuples, 0)::bigint AS events FROM pg_class WHERE oid = 'ledger'::regclass`

interface Counts {
  readonly registered: number
  readonly online: number
  readonly lastSeenAtMs: number
  readonly deletions: number
  readonly setAside: number
  readonly deletedAtMs: number | null
  /** As of the table's last ANALYZE. */
  readonly events: number
}

const NONE: Counts = {
  registered: 0,
  online: 0,
  lastSeenAtMs: 0,
  deletions: 0,
  setAside: 0,
  deletedAtMs: null,
  events: 0,
}

export class PostgresStateFigures {
  readonly #database: Database
  readonly #clock: Clock
  readonly #log: Log
  readonly #settings: OnlineSettings
  #timer: NodeJS.Timeout | undefined
  #isCounting = false
  #counts: Counts = NONE

  constructor(
    of: { readonly database: Database; readonly clock: Clock; readonly log: Log },
    settings: OnlineSettings,
  ) {
    this.#database = of.database
    this.#clock = of.clock
    this.#log = of.log
    this.#settings = settings
  }

  sensors(): { registered: number; online: number; lastSeenAtMs: number } {
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

  countSealedEvents(): number {
    return this.#counts.events
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.#count(), COUNT_EVERY_MS).unref()
    void this.#count()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  async #count(): Promise<void> {
    if (this.#isCounting) return
    this.#isCounting = true
    try {
      const { sinceMs, untilMs } = onlineTimes(this.#clock.nowMs(), this.#settings)
      const times = [sinceMs, untilMs]
      const [counts] = await this.#database.rows<Omit<Counts, 'events'>>(COUNTS, times)
      const [counted] = await this.#database.rows<Pick<Counts, 'events'>>(EVENTS)
      this.#counts = { ...NONE, ...counts, ...counted }
    } catch (error) {
      this.#log.debug('cannot read the figures now', { error: String(error) })
    } finally {
      this.#isCounting = false
    }
  }
}
