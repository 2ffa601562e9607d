// How many measurements of a sensor were accepted, by UTC day: kept apart from the measurement
// store, so it is known what to look for there.

import { DAY_MS } from '../../domain/time.ts'
import type { TimeRange } from '../../domain/time.ts'
import type { AcceptedDay } from '../../ports/control-reader.ts'
import type { Connection } from '../database.ts'

const DAYS = `
  SELECT day, measurements FROM accepted_per_day
  WHERE sensor_id = ? AND day >= ? AND day < ? ORDER BY day`
const TOTAL = 'SELECT ifnull(sum(measurements), 0) FROM accepted_per_day WHERE sensor_id = ?'

interface DayRow {
  day: number
  measurements: number
}

export class AcceptedDays {
  readonly #days
  readonly #total

  constructor(db: Connection) {
    this.#days = db.prepare<[number, number, number], DayRow>(DAYS)
    this.#total = db.prepare<[number], number>(TOTAL).pluck()
  }

  /** Days that the range touches, in ascending order; those without any are left out. */
  ofSensor(sensorId: number, { startMs, stopMs }: TimeRange): AcceptedDay[] {
    return this.#days
      .all(sensorId, Math.floor(startMs / DAY_MS), Math.ceil(stopMs / DAY_MS))
      .map(({ day, measurements }) => ({ dayMs: day * DAY_MS, measurements }))
  }

  /** Of all days. */
  totalOf(sensorId: number): number {
    return this.#total.get(sensorId) ?? 0
  }
}
