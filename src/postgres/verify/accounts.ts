// What the measurement store must have of each sensor according to the control data: measurements
// accepted by day, those still on their way or set aside, and the latest value.

import type { RawPoint } from '../../domain/history.ts'
import { decodeEntries } from '../../domain/measurement-columns.ts'
import { AccountTally, addPending } from '../../domain/sensor-account.ts'
import type { SensorAccount } from '../../domain/sensor-account.ts'
import { DAY_MS } from '../../domain/time.ts'
import type { Database, Sql } from '../database.ts'

const LIVE = 'FROM sensors WHERE deleted_at_ms IS NULL'
const LIVE_AFTER = `SELECT id ${LIVE} AND id > $1 ORDER BY id LIMIT $2`
const IS_LIVE = `SELECT 1 ${LIVE} AND id = $1`
const IS_LEAVING = 'SELECT 1 FROM sensor_deletions WHERE sensor_id = $1'
const TOTAL = 'SELECT coalesce(sum(measurements), 0)::bigint AS total FROM accepted_per_day'
const ACCEPTED = `
  SELECT d.sensor_id AS "sensorId", d.day, d.measurements
  FROM sensors s JOIN accepted_per_day d ON d.bucket = s.bucket AND d.sensor_id = s.id
  WHERE s.id = ANY ($1::int[]) AND s.deleted_at_ms IS NULL`
const LATEST = `
  SELECT s.id AS "sensorId", t.measured_at_ms AS "measuredAtMs", t.temp_celsius AS "rawCelsius"
  FROM sensors s LEFT JOIN sensor_state t ON t.bucket = s.bucket AND t.sensor_id = s.id
  WHERE s.id = ANY ($1::int[]) AND s.deleted_at_ms IS NULL`
const SET_ASIDE = `
  SELECT sensor_id AS "sensorId", measured_at_ms AS "measuredAtMs", temp_celsius AS "rawCelsius"
  FROM set_aside WHERE sensor_id = ANY ($1::int[]) ORDER BY measured_at_ms, tie_break_ns`
const UNFORWARDED = `
  SELECT j.stream_id AS stream, j.seq, j.entries
  FROM journal j JOIN stream_forwarded f ON f.bucket = j.bucket AND f.stream_id = j.stream_id
  WHERE j.seq > f.seq AND j.entries IS NOT NULL AND (j.stream_id, j.seq) > ($1, $2)
  ORDER BY j.stream_id, j.seq LIMIT 200`
const EVER_SET_ASIDE = `
  SELECT 1 WHERE pg_sequence_last_value(pg_get_serial_sequence('set_aside', 'id')) IS NOT NULL`
const STRAY = `
  SELECT name, sensor_id AS "sensorId" FROM (
    SELECT DISTINCT 'accepted_per_day' AS name, sensor_id FROM accepted_per_day
    UNION ALL SELECT 'sensor_state', sensor_id FROM sensor_state) AS named
  WHERE NOT EXISTS (SELECT 1 ${LIVE} AND id = sensor_id) LIMIT 100`

interface SensorPoint extends RawPoint {
  readonly sensorId: number
}

interface DayRow {
  readonly sensorId: number
  readonly day: number
  readonly measurements: number
}

interface UnforwardedRow {
  readonly stream: number
  readonly seq: number
  readonly entries: Buffer
}

export class PostgresAccounts {
  readonly name = 'PostgreSQL'
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** How many measurements of live sensors were accepted. */
  async total(): Promise<number> {
    const [row] = await this.#database.rows<{ total: number }>(TOTAL)
    return row?.total ?? 0
  }

  async sensorsAfter(sensorId: number, limit: number): Promise<number[]> {
    const rows = await this.#database.rows<{ id: number }>(LIVE_AFTER, [sensorId, limit])
    return rows.map(({ id }) => id)
  }

  async isLive(sensorId: number): Promise<boolean> {
    return (await this.#database.rows(IS_LIVE, [sensorId])).length > 0
  }

  async isLeaving(sensorId: number): Promise<boolean> {
    return (await this.#database.rows(IS_LEAVING, [sensorId])).length > 0
  }

  async mayHaveDropped(): Promise<boolean> {
    return (await this.#database.rows(EVER_SET_ASIDE)).length > 0
  }

  strayRows(): Promise<{ name: string; sensorId: number }[]> {
    return this.#database.rows(STRAY)
  }

  /** The accounts of the live sensors among these, all read at one moment. */
  read(sensorIds: readonly number[]): Promise<ReadonlyMap<number, SensorAccount>> {
    return this.#database.view(async (sql) => {
      const accounts = new Map<number, AccountTally>()
      for (const { sensorId, ...point } of await sql.rows<SensorPoint>(LATEST, [sensorIds])) {
        const account = new AccountTally(sensorId)
        if (point.measuredAtMs !== null) account.latest = point
        accounts.set(sensorId, account)
      }
      const live = [[...accounts.keys()]]
      for (const row of await sql.rows<DayRow>(ACCEPTED, live)) {
        accounts.get(row.sensorId)?.accepted.set(row.day * DAY_MS, row.measurements)
      }
      for (const row of await sql.rows<SensorPoint>(SET_ASIDE, live)) {
        accounts.get(row.sensorId)?.setAside.add(row.measuredAtMs, row.rawCelsius)
      }
      for await (const entries of unforwardedIn(sql)) {
        addPending(accounts, decodeEntries(entries))
      }
      return accounts
    })
  }
}

async function* unforwardedIn(sql: Sql): AsyncIterable<Buffer> {
  for (let place = [-1, 0]; ;) {
    const rows = await sql.rows<UnforwardedRow>(UNFORWARDED, place)
    const last = rows.at(-1)
    if (last === undefined) return
    place = [last.stream, last.seq]
    for (const { entries } of rows) yield entries
  }
}
