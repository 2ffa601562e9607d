// Setting aside measurements that the store will never take, and settling them.

import { listSetAside } from '../../control/set-aside.ts'
import { journalEntryBytes } from '../../domain/limits.ts'
import { encodeEntries } from '../../domain/measurement-columns.ts'
import { DAY_MS } from '../../domain/time.ts'
import type { MeasurementToSetAside, SetAsideMeasurement } from '../../ports/store-upkeep.ts'
import type { Connection } from '../database.ts'
import { FlowRunner } from '../run-flow.ts'

const INSERT = `
  INSERT INTO set_aside
    (user_id, sensor_id, measured_at_ms, tie_break_ns, temp_celsius, reason, set_aside_at_ms)
  SELECT ?, id, ?, ?, ?, ?, ? FROM sensors WHERE id = ? AND deleted_at_ms IS NULL
  ON CONFLICT DO NOTHING`
const DELETE = 'DELETE FROM set_aside WHERE id = ?'
const INSERT_ROW = `
  INSERT INTO journal (committed_at_ms, measurements, is_repeated, entries) VALUES (?, ?, 1, ?)`
const TOUCH_SENSOR = `
  UPDATE sensor_latest SET before_hour = floor(oldest_at_ms / 3600000.0), before_seq = data_seq,
    oldest_at_ms = ?, data_seq = ?
  WHERE sensor_id = ?`
const UNCOUNT = `
  UPDATE accepted_per_day SET measurements = measurements - 1 WHERE sensor_id = ? AND day = ?`

/** Measurements settled per transaction. */
const SETTLED_AT_ONCE = 5_000

export class SetAside {
  readonly #db: Connection
  readonly #flows: FlowRunner

  constructor(db: Connection) {
    this.#db = db
    this.#flows = new FlowRunner(db)
  }

  /**
   * Setting a measurement aside again changes nothing. Measurements of deleted sensors are dropped:
   * they must never be written again.
   */
  add(measurements: readonly MeasurementToSetAside[], nowMs: number): void {
    const insert = this.#db.prepare(INSERT)
    this.#db
      .transaction(() => {
        for (const {
          userId,
          sensorId,
          measuredAtMs,
          tieBreakNs,
          tempCelsius,
          reason,
        } of measurements) {
          const place = [userId, measuredAtMs, tieBreakNs]
          insert.run(...place, tempCelsius, reason, nowMs, sensorId)
        }
      })
      .immediate()
  }

  /**
   * Puts them back into the journal unchanged.
   *
   * @param ids `undefined`: all
   * @returns how many there were
   */
  retry(ids: readonly number[] | undefined, nowMs: number): number {
    return this.#settle(ids, (part) => {
      // Their keys are not news for the ledger.
      const entries = encodeEntries(part, ({ sensorId }) => sensorId, journalEntryBytes)
      const { lastInsertRowid } = this.#db.prepare(INSERT_ROW).run(nowMs, part.length, entries)
      const touch = this.#db.prepare(TOUCH_SENSOR)
      for (const [sensorId, own] of Map.groupBy(part, (one) => one.sensorId)) {
        const oldestAtMs = own.reduce((least, one) => Math.min(least, one.measuredAtMs), Infinity)
        touch.run(oldestAtMs, Number(lastInsertRowid), sensorId)
      }
    })
  }

  /** Deletes them for good. @returns how many there were */
  drop(ids: readonly number[] | undefined): number {
    return this.#settle(ids, (part) => {
      const uncount = this.#db.prepare(UNCOUNT)
      for (const { sensorId, measuredAtMs } of part) {
        uncount.run(sensorId, Math.floor(measuredAtMs / DAY_MS))
      }
    })
  }

  #settle(
    ids: readonly number[] | undefined,
    work: (part: readonly SetAsideMeasurement[]) => void,
  ): number {
    const remove = this.#db.prepare(DELETE)
    const wanted = ids && new Set(ids)
    let settled = 0
    const listBehind = (id: number) => this.#flows.run(listSetAside(id, SETTLED_AT_ONCE))
    for (let part = listBehind(0); part.length > 0;) {
      const chosen = part.filter(({ id }) => wanted === undefined || wanted.has(id))
      const lastId = part.at(-1)?.id ?? 0
      this.#db
        .transaction(() => {
          if (chosen.length > 0) work(chosen)
          for (const { id } of chosen) remove.run(id)
        })
        .immediate()
      settled += chosen.length
      part = listBehind(lastId)
    }
    return settled
  }
}
