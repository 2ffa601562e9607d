// The embedded measurement store as a whole, for copying it elsewhere: every row with its
// tie-break, and the number of rows. It is read in chunks with no transaction in between, so a
// service writing beside it is not held up.

import { DAY_MS } from '../../domain/time.ts'
import type { TimeRange } from '../../domain/time.ts'
import type { MeasurementColumns } from '../../domain/measurement-columns.ts'
import { orDamaged } from '../damaged-data.ts'
import { MEASUREMENTS_FILE, openForReading } from '../database.ts'
import type { Connection } from '../database.ts'

const CHUNK_ROWS = 20_000

/** Sorts before every tie-break of a millisecond. */
const NO_TIE_BREAK = -1

const TOTAL = 'SELECT total(measurement_count) FROM day_summaries'
const DAYS = 'SELECT start_ms FROM day_summaries WHERE sensor_id = ? ORDER BY start_ms'
// Counts the rows themselves: a copy must not be checked against a stored count.
const COUNT = `
  SELECT count(*) FROM measurements
  WHERE sensor_id = ? AND measured_at_ms >= ? AND measured_at_ms < ?`
const ROWS = `
  SELECT measured_at_ms, tie_break_ns, temp_celsius FROM measurements
  WHERE sensor_id = ? AND (measured_at_ms, tie_break_ns) > (?, ?) AND measured_at_ms < ?
  ORDER BY measured_at_ms, tie_break_ns LIMIT ${CHUNK_ROWS}`

type Row = [measuredAtMs: number, tieBreakNs: number, celsius: number]

export class StoredMeasurements {
  readonly #db: Connection
  readonly #total
  readonly #days
  readonly #count
  readonly #rows

  /** Opens the existing `file`. */
  constructor(file: string) {
    this.#db = openForReading(file)
    this.#total = this.#db.prepare<[], number>(TOTAL).pluck()
    this.#days = this.#db.prepare<[number], number>(DAYS).pluck()
    this.#count = this.#db.prepare<[number, number, number], number>(COUNT).pluck()
    this.#rows = this.#db.prepare<number[], Row>(ROWS).raw()
  }

  /** The number of rows of all sensors. */
  total(): number {
    return this.#total.get() ?? 0
  }

  /** Measurements per UTC day, by the start of the day; days without any are left out. */
  countByDay(sensorId: number): Map<number, number> {
    const counts = new Map<number, number>()
    for (const dayMs of this.#days.all(sensorId)) {
      counts.set(dayMs, this.#count.get(sensorId, dayMs, dayMs + DAY_MS) ?? 0)
    }
    return counts
  }

  /** By time and then by tie-break. @throws DamagedData */
  *read(
    { userId, sensorId }: { readonly userId: number; readonly sensorId: number },
    range: TimeRange,
  ): Generator<MeasurementColumns> {
    let after = [range.startMs, NO_TIE_BREAK]
    for (;;) {
      const problem = `what ${MEASUREMENTS_FILE} has of sensor ${sensorId} is damaged`
      const rows = orDamaged(problem, () => this.#rows.all(sensorId, ...after, range.stopMs))
      const last = rows.at(-1)
      if (last === undefined) return
      yield {
        count: rows.length,
        userId: new Uint32Array(rows.length).fill(userId),
        sensorId: new Uint32Array(rows.length).fill(sensorId),
        measuredAtMs: Float64Array.from(rows, ([measuredAtMs]) => measuredAtMs),
        tieBreakNs: Uint32Array.from(rows, ([, tieBreakNs]) => tieBreakNs),
        tempCelsius: Float64Array.from(rows, ([, , celsius]) => celsius),
      }
      if (rows.length < CHUNK_ROWS) return
      after = [last[0], last[1]]
    }
  }

  close(): void {
    this.#db.close()
  }
}
