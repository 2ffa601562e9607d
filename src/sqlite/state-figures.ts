// Figures about control.db and ledger.db for monitoring; each query reads little.

import type { Connection } from './database.ts'

const REGISTERED = 'SELECT count(*) FROM sensors WHERE deleted_at_ms IS NULL'
const ONLINE = `
  SELECT count(*) FROM sensor_latest JOIN sensors ON id = sensor_id
  WHERE last_seen_at_ms >= ? AND measured_at_ms >= ? AND deleted_at_ms IS NULL`
const DELETIONS = `
  SELECT count(*) AS count, min(deleted_at_ms) AS oldestAtMs
  FROM sensor_deletions JOIN sensors ON id = sensor_id`
/** State 1: in use. */
const SEALED_EVENTS = 'SELECT total(events) FROM runs WHERE merged_into IS NULL'

interface DeletionsRow {
  readonly count: number
  readonly oldestAtMs: number | null
}

export class StateFigures {
  readonly #registered
  readonly #online
  readonly #deletions
  readonly #sealedEvents

  constructor(control: Connection, ledger: Connection) {
    this.#registered = control.prepare<[], number>(REGISTERED).pluck()
    this.#online = control.prepare<[number, number], number>(ONLINE).pluck()
    this.#deletions = control.prepare<[], DeletionsRow>(DELETIONS)
    this.#sealedEvents = ledger.prepare<[], number>(SEALED_EVENTS).pluck()
  }

  /**
   * Sensors of all users.
   *
   * @param onlineSinceMs a sensor heard from and measured since then is online
   */
  sensors(onlineSinceMs: number): { registered: number; online: number } {
    return {
      registered: this.#registered.get() ?? 0,
      online: this.#online.get(onlineSinceMs, onlineSinceMs) ?? 0,
    }
  }

  /** Deleted sensors whose measurements are still in the store; 0 ms if there are none. */
  sensorDeletions(nowMs: number): { count: number; oldestAgeMs: number } {
    const { count = 0, oldestAtMs = null } = this.#deletions.get() ?? {}
    return { count, oldestAgeMs: oldestAtMs === null ? 0 : Math.max(0, nowMs - oldestAtMs) }
  }

  /** Number of events in the sealed part of the ledger. */
  sealedEvents(): number {
    return this.#sealedEvents.get() ?? 0
  }
}
