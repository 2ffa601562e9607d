// What the measurement store must contain for each sensor according to the control data:
// measurements accepted by day, minus those in transit or set aside, and the latest value; and
// which sensors it may have data of.

import type { RawPoint } from '../domain/history.ts'
import type { MeasurementColumns } from '../domain/measurement-columns.ts'
import { AccountTally, addPending } from '../domain/sensor-account.ts'
import type { AccountedLatest, SensorAccount } from '../domain/sensor-account.ts'
import { DAY_MS } from '../domain/time.ts'
import { counted, row, rows } from './flow.ts'
import type { Flow } from './flow.ts'

const LIVE = 'FROM sensors WHERE deleted_at_ms IS NULL'
const LIVE_AFTER = `SELECT id ${LIVE} AND id > $1 ORDER BY id LIMIT $2`
const IS_LIVE = `SELECT 1 ${LIVE} AND id = $1`
const IS_LEAVING = 'SELECT 1 FROM sensor_deletions WHERE sensor_id = $1'
const TOTAL = `
  SELECT CAST(coalesce(sum(measurements), 0) AS bigint) AS count FROM accepted_per_day`
const ACCEPTED = `
  SELECT d.sensor_id AS "sensorId", d.day, d.measurements
  FROM accepted_per_day d JOIN sensors s ON s.id = d.sensor_id
  WHERE s.id = ANY ($1::bigint[])`
const SET_ASIDE = `
  SELECT sensor_id AS "sensorId", measured_at_ms AS "measuredAtMs", temp_celsius AS "rawCelsius"
  FROM set_aside WHERE sensor_id = ANY ($1::bigint[]) ORDER BY measured_at_ms, tie_break_ns`

/** Where engines differ, in their SQL. */
export interface AccountTables {
  /** The table of latest values. */
  readonly latest: string
  /** A statement: finds a row if anything was ever set aside. */
  readonly everSetAside: string
  /**
   * A statement: the next journal rows, in order, not known to be forwarded, after row `$2` of
   * stream `$1`.
   */
  readonly unforwarded: string
  readonly decode: (entries: Buffer) => MeasurementColumns
}

interface SensorPoint extends RawPoint {
  readonly sensorId: number
}

interface LatestRow extends SensorPoint, AccountedLatest {}

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

/** A row of the table `name` that belongs to no live sensor. */
export interface StrayRow {
  readonly name: string
  readonly sensorId: number
}

/** The number of measurements accepted of live sensors. */
function* total(): Flow<number> {
  return yield* counted(TOTAL)
}

/** The next live sensors, by id. */
function* sensorsAfter(sensorId: number, limit: number): Flow<readonly number[]> {
  return (yield* rows<{ id: number }>(LIVE_AFTER, sensorId, limit)).map(({ id }) => id)
}

function* isLive(sensorId: number): Flow<boolean> {
  return (yield* row(IS_LIVE, sensorId)) !== undefined
}

/** Whether a deleted sensor's measurements must still be deleted from the store. */
function* isLeaving(sensorId: number): Flow<boolean> {
  return (yield* row(IS_LEAVING, sensorId)) !== undefined
}

/** Rows of no live sensor. */
const strayIn = (table: string) => `
  SELECT DISTINCT '${table}' AS name, t.sensor_id AS "sensorId"
  FROM ${table} t LEFT JOIN sensors s
    ON s.id = t.sensor_id AND s.deleted_at_ms IS NULL
  WHERE s.id IS NULL`

/** For one engine. */
export function sensorAccounts({ latest, everSetAside, unforwarded, decode }: AccountTables) {
  const latestOf = `
    SELECT s.id AS "sensorId", t.measured_at_ms AS "measuredAtMs", t.temp_celsius AS "rawCelsius",
      t.gave_way_at_ms AS "gaveWayAtMs"
    FROM sensors s LEFT JOIN ${latest} t ON t.sensor_id = s.id
    WHERE s.id = ANY ($1::bigint[]) AND s.deleted_at_ms IS NULL`
  const stray = `${strayIn('accepted_per_day')} UNION ALL ${strayIn(latest)} LIMIT 100`

  /** Whether measurements may have been dropped after they were accepted. */
  function* mayHaveDropped(): Flow<boolean> {
    return (yield* row(everSetAside)) !== undefined
  }
  function* strayRows(): Flow<readonly StrayRow[]> {
    return yield* rows<StrayRow>(stray)
  }
  /** The accounts of the live sensors among these; read them in one snapshot. */
  function* read(sensorIds: readonly number[]): Flow<ReadonlyMap<number, SensorAccount>> {
    const accounts = new Map<number, AccountTally>()
    for (const { sensorId, ...found } of yield* rows<LatestRow>(latestOf, sensorIds)) {
      const account = new AccountTally(sensorId, found.measuredAtMs === null ? undefined : found)
      accounts.set(sensorId, account)
    }
    const live = [...accounts.keys()]
    for (const { sensorId, day, measurements } of yield* rows<DayRow>(ACCEPTED, live)) {
      accounts.get(sensorId)?.accepted.set(day * DAY_MS, measurements)
    }
    for (const { sensorId, ...point } of yield* rows<SensorPoint>(SET_ASIDE, live)) {
      accounts.get(sensorId)?.setAside.add(point.measuredAtMs, point.rawCelsius)
    }
    yield* tallyUnforwarded(accounts)
    return accounts
  }
  function* tallyUnforwarded(accounts: ReadonlyMap<number, AccountTally>): Flow<void> {
    for (let place = [-1, 0]; ;) {
      const found = yield* rows<UnforwardedRow>(unforwarded, ...place)
      const last = found.at(-1)
      if (last === undefined) return
      for (const { entries } of found) addPending(accounts, decode(entries))
      place = [last.stream, last.seq]
    }
  }
  return { total, sensorsAfter, isLive, isLeaving, mayHaveDropped, strayRows, read }
}
