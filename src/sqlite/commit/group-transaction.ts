// The durable half of a commit: one transaction that holds everything a group of submissions
// changes. When it returns, all of it is on disk; when it throws, none of it is.

import { encodeInfos } from '../sensor-infos.ts'
import type { AcceptanceRules } from '../../domain/acceptance.ts'
import { becomesLatest } from '../../domain/sensor.ts'
import { DAY_MS } from '../../domain/time.ts'
import type { PendingSensor } from './sensor-directory.ts'
import { BulkStatement } from '../bulk-statement.ts'
import type { Connection } from '../database.ts'
import type { LedgerEpoch } from '../ledger/hot-ledger.ts'
import { EntriesEncoder, ROW_MEASUREMENTS_MAX } from '../journal-row.ts'

const INSERT_SENSOR = `
  INSERT INTO sensors
    (id, user_id, serial_number, serial_number_key, alias, created_at_ms, info_at_ms, changed_seq)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
const INSERT_ROW = `
  INSERT INTO journal (committed_at_ms, measurements, sensor_infos, entries) VALUES (?, ?, ?, ?)`

/** Keeps the latest value by the rule of `becomesLatest`. */
function upsertLatest(db: Connection, futureMsMax: number): BulkStatement {
  const givesWay = `measured_at_ms > excluded.last_seen_at_ms + ${futureMsMax}`
  const isLatest = `excluded.measured_at_ms >= measured_at_ms OR ${givesWay}`
  const insert = `
    INSERT INTO sensor_latest (sensor_id, measured_at_ms, temp_celsius, last_seen_at_ms, data_seq,
      oldest_at_ms, gave_way_at_ms) VALUES`
  const conflict = `
    ON CONFLICT (sensor_id) DO UPDATE SET
      temp_celsius = iif(${isLatest}, excluded.temp_celsius, temp_celsius),
      measured_at_ms = iif(${isLatest}, excluded.measured_at_ms, measured_at_ms),
      gave_way_at_ms = max(gave_way_at_ms, excluded.gave_way_at_ms,
        iif(${givesWay}, measured_at_ms, 0)),
      last_seen_at_ms = excluded.last_seen_at_ms,
      before_hour = floor(oldest_at_ms / 3600000.0),
      before_seq = data_seq,
      oldest_at_ms = excluded.oldest_at_ms,
      data_seq = excluded.data_seq`
  return new BulkStatement(db, insert, 7, conflict)
}

function upsertDay(db: Connection): BulkStatement {
  const insert = 'INSERT INTO accepted_per_day (sensor_id, day, measurements) VALUES'
  const conflict = `
    ON CONFLICT (sensor_id, day) DO UPDATE SET measurements = measurements + excluded.measurements`
  return new BulkStatement(db, insert, 3, conflict)
}

/** What a group adds for one sensor. */
interface SensorNews {
  oldestAtMs: number
  gaveWayAtMs: number
  measuredAtMs: number
  tempCelsius: number
  readonly lastSeenAtMs: number
}

/** A sensor's day as one number: days are counted from the epoch and stay below 2^22. */
const DAYS_PER_SENSOR = 2 ** 22

export interface GroupChanges {
  readonly epoch: LedgerEpoch
  /** Records of the epoch from here on are new. */
  readonly firstRecord: number
  readonly newSensors: readonly PendingSensor[]
  readonly lastSeenAtMs: ReadonlyMap<number, number>
  readonly committedAtMs: number
}

export class GroupTransaction {
  readonly #encoder = new EntriesEncoder()
  readonly #insertSensor
  readonly #insertRow
  readonly #upsertLatest
  readonly #upsertDay
  readonly #futureMsMax: number

  constructor(db: Connection, { futureMsMax }: Pick<AcceptanceRules, 'futureMsMax'>) {
    this.#futureMsMax = futureMsMax
    this.#insertSensor =
      db.prepare<[number, number, string, string, string, number, number, number]>(INSERT_SENSOR)
    this.#insertRow = db.prepare<[number, number, string | null, Buffer]>(INSERT_ROW)
    this.#upsertLatest = upsertLatest(db, futureMsMax)
    this.#upsertDay = upsertDay(db)
  }

  /**
   * Writes the changes inside a transaction that the caller opened.
   *
   * @returns the seq of the last journal row
   */
  write(changes: GroupChanges): number {
    const { epoch, firstRecord, newSensors } = changes
    const infos = encodeInfos(newSensors)
    let seq = 0
    for (let from = firstRecord; from < epoch.count; from += ROW_MEASUREMENTS_MAX) {
      const to = Math.min(from + ROW_MEASUREMENTS_MAX, epoch.count)
      const entries = this.#encoder.encode(epoch, from, to)
      const rowInfos = from === firstRecord ? infos : null
      const row = this.#insertRow.run(changes.committedAtMs, to - from, rowInfos, entries)
      seq = Number(row.lastInsertRowid)
    }
    for (const { id, userId, serialNumber, serialNumberKey, alias, createdAtMs } of newSensors) {
      const names = [serialNumber, serialNumberKey, alias] as const
      this.#insertSensor.run(id, userId, ...names, createdAtMs, createdAtMs, seq)
    }
    this.#writeNews(changes, seq)
    return seq
  }

  #writeNews(changes: GroupChanges, seq: number): void {
    const { news, perDay } = summarise(changes, this.#futureMsMax)
    const latest = this.#upsertLatest
    const days = this.#upsertDay
    // A group that found no room may have left some.
    latest.clear()
    days.clear()
    for (const [sensorId, own] of news) {
      latest.put(sensorId)
      latest.put(own.measuredAtMs)
      latest.put(own.tempCelsius)
      latest.put(own.lastSeenAtMs)
      latest.put(seq)
      latest.put(own.oldestAtMs)
      latest.put(own.gaveWayAtMs)
    }
    latest.finish()
    for (const [sensorDay, count] of perDay) {
      const sensorId = Math.floor(sensorDay / DAYS_PER_SENSOR)
      days.put(sensorId)
      days.put(sensorDay - sensorId * DAYS_PER_SENSOR)
      days.put(count)
    }
    days.finish()
  }
}

function summarise(
  changes: GroupChanges,
  futureMsMax: number,
): { news: Map<number, SensorNews>; perDay: Map<number, number> } {
  const news = new Map<number, SensorNews>()
  const perDay = new Map<number, number>()
  const { epoch } = changes
  for (let record = changes.firstRecord; record < epoch.count; record++) {
    const sensorId = epoch.sensorId[record] ?? 0
    const measuredAtMs = epoch.measuredAtMs[record] ?? 0
    const tempCelsius = epoch.tempCelsius[record] ?? 0
    const own = news.get(sensorId)
    if (own === undefined) {
      const lastSeenAtMs = changes.lastSeenAtMs.get(sensorId) ?? changes.committedAtMs
      const latest = { measuredAtMs, tempCelsius, lastSeenAtMs }
      news.set(sensorId, { ...latest, oldestAtMs: measuredAtMs, gaveWayAtMs: 0 })
    } else addTo(own, { measuredAtMs, tempCelsius }, futureMsMax)
    const sensorDay = sensorId * DAYS_PER_SENSOR + Math.floor(measuredAtMs / DAY_MS)
    perDay.set(sensorDay, (perDay.get(sensorDay) ?? 0) + 1)
  }
  return { news, perDay }
}

function addTo(
  news: SensorNews,
  { measuredAtMs, tempCelsius }: Pick<SensorNews, 'measuredAtMs' | 'tempCelsius'>,
  futureMsMax: number,
): void {
  news.oldestAtMs = Math.min(news.oldestAtMs, measuredAtMs)
  const latestAtMs = news.measuredAtMs
  if (!becomesLatest(measuredAtMs, latestAtMs, news.lastSeenAtMs + futureMsMax)) return
  if (measuredAtMs < latestAtMs) news.gaveWayAtMs = Math.max(news.gaveWayAtMs, latestAtMs)
  news.measuredAtMs = measuredAtMs
  news.tempCelsius = tempCelsius
}
