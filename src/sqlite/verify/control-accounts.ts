// What the measurement store must have of each sensor according to control.db: measurements
// accepted by day, minus those still on their way or set aside, and the latest value. Each account
// is read at one moment, in a short transaction beside the commit thread.

import type { RawPoint } from '../../domain/history.ts'
import { AccountTally, addPending } from '../../domain/sensor-account.ts'
import type { SensorAccount } from '../../domain/sensor-account.ts'
import { DAY_MS } from '../../domain/time.ts'
import { CONTROL_FILE } from '../database.ts'
import type { Connection } from '../database.ts'
import { decodeEntries } from '../journal-row.ts'

const LIVE_AFTER = `
  SELECT id FROM sensors WHERE deleted_at_ms IS NULL AND id > ? ORDER BY id LIMIT ?`
const IS_LIVE = 'SELECT 1 FROM sensors WHERE id = ? AND deleted_at_ms IS NULL'
const IS_LEAVING = 'SELECT 1 FROM sensor_deletions WHERE sensor_id = ?'
const TOTAL = 'SELECT total(measurements) FROM accepted_per_day'
const ACCEPTED = 'SELECT day, measurements FROM accepted_per_day WHERE sensor_id = ?'
const LATEST = `
  SELECT measured_at_ms AS measuredAtMs, temp_celsius AS rawCelsius FROM sensor_latest
  WHERE sensor_id = ?`
const UNFORWARDED = `
  SELECT entries FROM journal
  WHERE seq > (SELECT forwarded_seq FROM journal_watermark WHERE id = 1) AND entries IS NOT NULL
  ORDER BY seq`
const SET_ASIDE = `
  SELECT measured_at_ms AS measuredAtMs, temp_celsius AS rawCelsius FROM set_aside
  WHERE sensor_id = ? ORDER BY measured_at_ms, tie_break_ns`
const EVER_SET_ASIDE = `SELECT 1 FROM sqlite_sequence WHERE name = 'set_aside' AND seq > 0`
const STRAY = `
  SELECT 'accepted_per_day' AS name, sensor_id AS sensorId FROM accepted_per_day
    GROUP BY sensor_id HAVING NOT EXISTS (SELECT 1 FROM sensors
      WHERE id = sensor_id AND deleted_at_ms IS NULL)
  UNION ALL
  SELECT 'sensor_latest', sensor_id FROM sensor_latest
    WHERE NOT EXISTS (SELECT 1 FROM sensors WHERE id = sensor_id AND deleted_at_ms IS NULL)
  LIMIT 100`

/** A row that belongs to no live sensor. */
export interface StrayRow {
  readonly name: string
  readonly sensorId: number
}

export class ControlAccounts {
  readonly name = CONTROL_FILE
  readonly #db: Connection
  readonly #accepted
  readonly #latest
  readonly #unforwarded
  readonly #setAside
  readonly #isLive

  constructor(db: Connection) {
    this.#db = db
    this.#accepted = db.prepare<[number], { day: number; measurements: number }>(ACCEPTED)
    this.#latest = db.prepare<[number], RawPoint>(LATEST)
    this.#unforwarded = db.prepare<[], Buffer>(UNFORWARDED).pluck()
    this.#setAside = db.prepare<[number], RawPoint>(SET_ASIDE)
    this.#isLive = db.prepare<[number], number>(IS_LIVE).pluck()
  }

  /** How many measurements of live sensors were accepted. */
  total(): number {
    return this.#db.prepare<[], number>(TOTAL).pluck().get() ?? 0
  }

  /** The next live sensors, by id. */
  sensorsAfter(sensorId: number, limit: number): number[] {
    return this.#db.prepare<[number, number], number>(LIVE_AFTER).pluck().all(sensorId, limit)
  }

  isLive(sensorId: number): boolean {
    return this.#isLive.get(sensorId) !== undefined
  }

  /** Whether the measurements of a deleted sensor still have to be deleted from the store. */
  isLeaving(sensorId: number): boolean {
    return this.#db.prepare(IS_LEAVING).get(sensorId) !== undefined
  }

  /** Whether measurements may have been dropped after they were accepted. */
  mayHaveDropped(): boolean {
    return this.#db.prepare(EVER_SET_ASIDE).get() !== undefined
  }

  strayRows(): StrayRow[] {
    return this.#db.prepare<[], StrayRow>(STRAY).all()
  }

  /** The accounts of the live sensors among these, all read at one moment. */
  read(sensorIds: readonly number[]): ReadonlyMap<number, SensorAccount> {
    return this.#db.transaction(() => {
      const live = sensorIds.filter((sensorId) => this.isLive(sensorId))
      const accounts = new Map(live.map((id) => [id, new AccountTally(id)]))
      for (const account of accounts.values()) this.#fill(account)
      for (const row of this.#unforwarded.iterate()) addPending(accounts, decodeEntries(row))
      return accounts
    })()
  }

  #fill(account: AccountTally): void {
    const { sensorId, accepted, setAside } = account
    account.latest = this.#latest.get(sensorId)
    for (const { day, measurements } of this.#accepted.iterate(sensorId)) {
      accepted.set(day * DAY_MS, measurements)
    }
    for (const { measuredAtMs, rawCelsius } of this.#setAside.iterate(sensorId)) {
      setAside.add(measuredAtMs, rawCelsius)
    }
  }
}
