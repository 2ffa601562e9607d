// Number of measurements accepted per sensor and UTC day, kept apart from the measurement store, so
// it is known what must be there.

import { DAY_MS } from '../../domain/time.ts'
import type { TimeRange } from '../../domain/time.ts'
import type { AcceptedDay } from '../../ports/control-reader.ts'
import type { Connection } from '../database.ts'

const DAYS = `
  SELECT day, measurements FROM accepted_per_day
  WHERE sensor_id = ? AND day >= ? AND day < ? ORDER BY day`
const TOTAL = `
  SELECT ifnull(sum(measurements), 0) FROM accepted_per_day
  WHERE sensor_id IN (SELECT value FROM json_each(?))`

interface DayRow {
  day: number
  measurements: number
}

export class AcceptedDays {
  readonly #days
  readonly #total

  constructor(db: Connection) {
    this.#days = db.prepare<[number, number, number], DayRow>(DAYS)
    this.#total = db.prepare<[string], number>(TOTAL).pluck()
  }

  /** The days in the range, in ascending order; those without any are left out. */
  ofSensor(sensorId: number, { startMs, stopMs }: TimeRange): AcceptedDay[] {
    return this.#days
      .all(sensorId, Math.floor(startMs / DAY_MS), Math.ceil(stopMs / DAY_MS))
      .map(({ day, measurements }) => ({ dayMs: day * DAY_MS, measurements }))
  }

  /** Of all days. */
  totalOf(sensorIds: readonly number[]): number {
    return this.#total.get(JSON.stringify(sensorIds)) ?? 0
  }
}
