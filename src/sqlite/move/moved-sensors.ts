// What the rows of a sensor need to know of it from other files: functions that statements call.

import { damagedFile, LEDGER_FILE, orDamaged } from '../database.ts'
import type { Connection } from '../database.ts'

const SENSORS = 'SELECT id, user_id AS userId, deleted_at_ms IS NULL AS isLive FROM sensors'
const SPANS = 'SELECT spans FROM time_spans WHERE sensor_id = ?'
const NEXT_NS = 'SELECT next_ns FROM tie_breaks WHERE sensor_id = ? AND measured_at_ms = ?'

const DAMAGED = damagedFile(LEDGER_FILE)

interface SensorRow {
  readonly id: number
  readonly userId: number
  readonly isLive: number
}

/** Every sensor that ever was, in memory: deleted ones are still named by events. */
export class MovedSensors {
  readonly #sensors: ReadonlyMap<number, SensorRow>

  constructor({ control, ledger }: { readonly control: Connection; readonly ledger: Connection }) {
    const rows = control.prepare<[], SensorRow>(SENSORS).all()
    this.#sensors = new Map(rows.map((row) => [row.id, row]))
    const spans = ledger.prepare<[number], Buffer>(SPANS).pluck()
    const nextNs = ledger.prepare<[number, number | null], number>(NEXT_NS).pluck()
    ledger.function('is_live', (id: number) => this.#find(id).isLive)
    // What is not covered has no measurement, and what is, without a row, has the tie-break 0.
    control.function('last_tie_break', (id: number, atMs: number | null) =>
      orDamaged(DAMAGED, () => (nextNs.get(id, atMs) ?? 1) - 1),
    )
    control.function('spans_of', (id: number) =>
      orDamaged(DAMAGED, () => spans.get(id) ?? Buffer.alloc(0)),
    )
  }

  userOf(sensorId: number): number {
    return this.#find(sensorId).userId
  }

  #find(sensorId: number): SensorRow {
    const sensor = this.#sensors.get(sensorId)
    if (sensor !== undefined) return sensor
    throw new Error(
      `there is data of a sensor ${sensorId} that never was: see \`thermolog verify\``,
    )
  }
}
