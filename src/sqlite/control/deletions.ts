// Deleting sensors and users, in the commit thread. All that a user has had can be millions of
// rows, so their sensors are deleted a few in each transaction, between groups of submissions. The
// user's own row goes first: whoever has sensors without it is being deleted, and a start goes on.

import { DAY_MS } from '../../domain/time.ts'
import type { Clock } from '../../ports/system.ts'
import type { Connection } from '../database.ts'

const SENSORS_AT_ONCE = 100
/** A sensor has a row for each day of its history: one may be as much work as a hundred others. */
const WORK_MS_MAX = 20

// Tokens and identities are deleted with it.
const DELETE_USER = 'DELETE FROM users WHERE id = ?'
const COUNT_SENSORS = 'SELECT count(*) FROM sensors WHERE user_id = ? AND deleted_at_ms IS NULL'
// Including sensors deleted before, because they have serial numbers too.
const SENSORS_OF_DELETED = `
  SELECT id FROM sensors
  WHERE user_id = @userId AND serial_number <> ''
    AND NOT EXISTS (SELECT 1 FROM users WHERE id = @userId)
  LIMIT ${SENSORS_AT_ONCE}`
const DELETED_USERS = `
  SELECT DISTINCT user_id FROM sensors
  WHERE serial_number <> '' AND user_id NOT IN (SELECT id FROM users)`
const AMONG = 'IN (SELECT value FROM json_each(@ids))'
const WIPE_SERIAL_NUMBERS = `
  UPDATE sensors SET serial_number = '', serial_number_key = '' WHERE id ${AMONG}`
// By their ids: a user may have had many more.
const DELETE_SENSORS = `
  UPDATE sensors SET deleted_at_ms = @nowMs, changed_seq = @seq, alias = '',
    compensation_celsius = 0
  WHERE +user_id = @userId AND deleted_at_ms IS NULL AND id ${AMONG} RETURNING id`
// The accepted days tell between which times a sensor's measurements lie.
const ORDER_DELETIONS = `
  INSERT INTO sensor_deletions (sensor_id, user_id, start_ms, stop_ms, after_seq, due_at_ms)
  SELECT value, @userId, ifnull(min(day), 0) * ${DAY_MS}, (ifnull(max(day), -1) + 1) * ${DAY_MS},
    @seq - 1, @nowMs
  FROM json_each(@ids) LEFT JOIN accepted_per_day ON sensor_id = value GROUP BY value`
const FORGET = ['sensor_latest', 'history_revisions', 'accepted_per_day', 'set_aside'].map(
  (table) => `DELETE FROM ${table} WHERE sensor_id ${AMONG}`,
)
const LAST_SEQ = "SELECT seq FROM sqlite_sequence WHERE name = 'journal'"

export class UserDeletions {
  readonly #db: Connection
  readonly #clock: Clock
  readonly #users: number[]

  constructor(db: Connection, clock: Clock) {
    this.#db = db
    this.#clock = clock
    this.#users = db.prepare<[], number>(DELETED_USERS).pluck().all()
  }

  /** Whether there are sensors left of a deleted user. */
  get isPending(): boolean {
    return this.#users.length > 0
  }

  /**
   * Deletes a user and the first of their sensors, in the caller's transaction.
   *
   * @returns how many sensors they had, `undefined` if there is no such user
   */
  begin(userId: number, nowMs: number): number | undefined {
    const sensors = this.#db.prepare<[number], number>(COUNT_SENSORS).pluck().get(userId) ?? 0
    if (this.#db.prepare(DELETE_USER).run(userId).changes === 0) return undefined
    this.#deleteSome(userId, nowMs)
    return sensors
  }

  /** The transaction is through. */
  noteBegun(userId: number): void {
    this.#users.push(userId)
  }

  /** Deletes some more sensors. */
  continue(): void {
    const [userId] = this.#users
    if (userId === undefined) return
    const deleteSome = this.#db.transaction(() => this.#deleteSome(userId, this.#clock.nowMs()))
    if (!deleteSome.immediate()) this.#users.shift()
  }

  /** @returns whether there may be more */
  #deleteSome(userId: number, nowMs: number): boolean {
    const some = this.#db.prepare<{ userId: number }, number>(SENSORS_OF_DELETED).pluck()
    const endMs = this.#clock.monotonicMs() + WORK_MS_MAX
    const found = some.all({ userId })
    const ids: number[] = []
    for (const id of found) {
      deleteSensorRows(this.#db, { userId, nowMs, ids: [id] })
      ids.push(id)
      if (this.#clock.monotonicMs() >= endMs) break
    }
    this.#db.prepare(WIPE_SERIAL_NUMBERS).run({ ids: JSON.stringify(ids) })
    return ids.length < found.length || found.length === SENSORS_AT_ONCE
  }
}

/** @returns how many of them were there */
export function deleteSensorRows(
  db: Connection,
  order: { readonly userId: number; readonly nowMs: number; readonly ids: readonly number[] },
): number {
  const of = { ...order, seq: nextSeq(db) }
  const deletion = db.prepare<object, number>(DELETE_SENSORS).pluck()
  const deleted = deletion.all({ ...of, ids: JSON.stringify(order.ids) })
  const sensors = { ...of, ids: JSON.stringify(deleted) }
  for (const sql of [ORDER_DELETIONS, ...FORGET]) db.prepare(sql).run(sensors)
  return deleted.length
}

/** Of the row that this transaction is about to write. */
export function nextSeq(db: Connection): number {
  return (db.prepare<[], number>(LAST_SEQ).pluck().get() ?? 0) + 1
}
