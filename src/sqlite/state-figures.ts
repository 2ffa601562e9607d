// Figures about control.db and ledger.db for monitoring; each query reads little.

import { isOnlineAt } from '../control/sensors.ts'
import { onlineTimes } from '../domain/sensor.ts'
import type { OnlineSettings, OnlineTimes } from '../domain/sensor.ts'
import type { Clock } from '../ports/system.ts'
import type { Connection } from './database.ts'

const REGISTERED = 'SELECT count(*) FROM sensors WHERE deleted_at_ms IS NULL'
const ONLINE = `
  SELECT count(*) FROM sensor_latest t JOIN sensors s ON s.id = t.sensor_id
  WHERE ${isOnlineAt('$sinceMs', '$untilMs')} AND s.deleted_at_ms IS NULL`
const LAST_SEEN = 'SELECT ifnull(max(last_seen_at_ms), 0) FROM sensor_latest'
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
  readonly #clock: Clock
  readonly #settings: OnlineSettings
  readonly #registered
  readonly #online
  readonly #lastSeen
  readonly #deletions
  readonly #sealedEvents

  constructor(
    of: { readonly control: Connection; readonly ledger: Connection; readonly clock: Clock },
    settings: OnlineSettings,
  ) {
    const { control, ledger } = of
    this.#clock = of.clock
    this.#settings = settings
    this.#registered = control.prepare<[], number>(REGISTERED).pluck()
    this.#online = control.prepare<[OnlineTimes], number>(ONLINE).pluck()
    this.#lastSeen = control.prepare<[], number>(LAST_SEEN).pluck()
    this.#deletions = control.prepare<[], DeletionsRow>(DELETIONS)
    this.#sealedEvents = ledger.prepare<[], number>(SEALED_EVENTS).pluck()
  }

  /** Sensors of all users; when one was last heard from, 0 if none ever was. */
  sensors(): { registered: number; online: number; lastSeenAtMs: number } {
    const times = onlineTimes(this.#clock.nowMs(), this.#settings)
    return {
      registered: this.#registered.get() ?? 0,
      online: this.#online.get(times) ?? 0,
      lastSeenAtMs: this.#lastSeen.get() ?? 0,
    }
  }

  /** Deleted sensors whose measurements are still in the store; 0 ms if there are none. */
  sensorDeletions(): { count: number; oldestAgeMs: number } {
    const { count = 0, oldestAtMs } = this.#deletions.get() ?? {}
    const nowMs = this.#clock.nowMs()
    return { count, oldestAgeMs: Math.max(0, nowMs - (oldestAtMs ?? nowMs)) }
  }

  /** Number of events in the sealed part of the ledger. */
  countSealedEvents(): number {
    return this.#sealedEvents.get() ?? 0
  }
}
