// Keeps the summaries of minute, quarter hour, hour and UTC day in step with the measurements.
//
// New measurements are added in the order of sensor and time. A window is summed up in memory and
// written when the next one begins: one upsert per window and batch, however many measurements it
// has. A minute's sum then goes into its quarter hour, and so on up to the day.

import { DAY_MS, HOUR_MS, MINUTE_MS, floorToWindow } from '../../domain/time.ts'
import type { Connection } from '../database.ts'
import { BulkStatement } from '../bulk-statement.ts'
import type { SummaryTable } from './schema.ts'

const NO_SENSOR = 0
const SUMMARY_COLUMNS = 6
const QUARTER_MS = 15 * MINUTE_MS

/** Adds measurements to the summaries of every resolution, within the caller's transaction. */
export class Rollups {
  readonly #minutes: Rollup

  constructor(db: Connection) {
    const days = new Rollup(upsertInto(db, 'day_summaries'), DAY_MS)
    const hours = new Rollup(upsertInto(db, 'hour_summaries'), HOUR_MS, days)
    const quarters = new Rollup(upsertInto(db, 'quarter_summaries'), QUARTER_MS, hours)
    this.#minutes = new Rollup(upsertInto(db, 'minute_summaries'), MINUTE_MS, quarters)
  }

  /** Discards what was gathered for a transaction that did not commit. */
  begin(): void {
    this.#minutes.clear()
  }

  /** Counts one stored measurement; cheapest in the order of sensor and time. */
  add(sensorId: number, measuredAtMs: number, celsius: number): void {
    this.#minutes.add(sensorId, measuredAtMs, celsius)
  }

  /** Writes what has been gathered; call it before each commit. */
  finish(): void {
    this.#minutes.finish()
  }
}

function upsertInto(db: Connection, table: SummaryTable): BulkStatement {
  const insert = `
    INSERT INTO ${table}
      (sensor_id, start_ms, measurement_count, sum_celsius, min_celsius, max_celsius)
    VALUES`
  const conflict = `
    ON CONFLICT (sensor_id, start_ms) DO UPDATE SET
      measurement_count = measurement_count + excluded.measurement_count,
      sum_celsius = sum_celsius + excluded.sum_celsius,
      min_celsius = min(min_celsius, excluded.min_celsius),
      max_celsius = max(max_celsius, excluded.max_celsius)`
  return new BulkStatement(db, insert, SUMMARY_COLUMNS, conflict)
}

/** The summaries of one resolution: the current window, and the rollup it goes into. */
class Rollup {
  readonly #upsert: BulkStatement
  readonly #windowMs: number
  readonly #coarser: Rollup | undefined
  #sensorId = NO_SENSOR
  #startMs = 0
  #count = 0
  #sum = 0
  #min = Infinity
  #max = -Infinity

  constructor(upsert: BulkStatement, windowMs: number, coarser?: Rollup) {
    this.#upsert = upsert
    this.#windowMs = windowMs
    this.#coarser = coarser
  }

  add(sensorId: number, atMs: number, celsius: number): void {
    this.#moveTo(sensorId, atMs)
    this.#count += 1
    this.#sum += celsius
    if (celsius < this.#min) this.#min = celsius
    if (celsius > this.#max) this.#max = celsius
  }

  finish(): void {
    this.#write()
    this.#upsert.finish()
    this.#coarser?.finish()
  }

  clear(): void {
    this.#reset()
    this.#upsert.clear()
    this.#coarser?.clear()
  }

  /** Adds the sum of a finer window. */
  merge(finer: Rollup): void {
    this.#moveTo(finer.#sensorId, finer.#startMs)
    this.#count += finer.#count
    this.#sum += finer.#sum
    if (finer.#min < this.#min) this.#min = finer.#min
    if (finer.#max > this.#max) this.#max = finer.#max
  }

  #moveTo(sensorId: number, atMs: number): void {
    const offsetMs = atMs - this.#startMs
    if (sensorId === this.#sensorId && offsetMs >= 0 && offsetMs < this.#windowMs) return
    this.#write()
    this.#sensorId = sensorId
    this.#startMs = floorToWindow(atMs, this.#windowMs)
  }

  #write(): void {
    if (this.#count > 0) {
      this.#upsert.put(this.#sensorId)
      this.#upsert.put(this.#startMs)
      this.#upsert.put(this.#count)
      this.#upsert.put(this.#sum)
      this.#upsert.put(this.#min)
      this.#upsert.put(this.#max)
      this.#coarser?.merge(this)
    }
    this.#reset()
  }

  #reset(): void {
    this.#sensorId = NO_SENSOR
    this.#count = 0
    this.#sum = 0
    this.#min = Infinity
    this.#max = -Infinity
  }
}
