// Finishes the deletion of a user: deletes their sensors, a few in each transaction, and erases
// personal data. Any process may run the next transaction, one process at a time; if it is
// interrupted, it is repeated. The user's state is already gone, so no group registers a sensor for
// them, writes to one, or waits for it.

import { SECOND_MS } from '../../domain/time.ts'
import type { Clock, Log } from '../../ports/system.ts'
import { unlessAway } from '../server/database.ts'
import type { Database } from '../server/database.ts'
import { removeStates } from './sensor-writes.ts'

interface Collaborators {
  readonly database: Database
  readonly clock: Clock
  readonly log: Log
}

const LOOK_EVERY_MS = SECOND_MS
/** About 20 ms of work. */
const SENSORS_AT_ONCE = 200

const FIND = `
  SELECT user_id AS "userId" FROM user_deletions ORDER BY user_id LIMIT 100`
const TAKE = `
  SELECT 1 FROM user_deletions WHERE user_id = $1 FOR UPDATE SKIP LOCKED`
// Including sensors deleted before, because they have serial numbers too.
const SENSORS = `
  SELECT id FROM sensors WHERE user_id = $1 AND serial_number <> ''
  ORDER BY id LIMIT ${SENSORS_AT_ONCE}`
const ERASE = `
  UPDATE sensors SET deleted_at_ms = coalesce(deleted_at_ms, $2), serial_number = '',
    serial_number_key = '', alias = '', compensation_celsius = 0
  WHERE id = ANY ($1::int[])`
const END = 'DELETE FROM user_deletions WHERE user_id = $1'

/** @returns whether it found work that no other process was doing */
export async function continueUserDeletion(database: Database, nowMs: number): Promise<boolean> {
  for (const { userId } of await database.rows<{ userId: number }>(FIND)) {
    if (await deleteSome(database, userId, nowMs)) return true
  }
  return false
}

function deleteSome(database: Database, userId: number, nowMs: number): Promise<boolean> {
  return database.transaction(async (sql) => {
    if ((await sql.rows(TAKE, [userId])).length === 0) return false
    const sensors = await sql.rows<{ id: number }>(SENSORS, [userId])
    const ids = sensors.map(({ id }) => id)
    await removeStates(sql, ids, nowMs)
    await sql.change(ERASE, [ids, nowMs])
    if (ids.length < SENSORS_AT_ONCE) await sql.change(END, [userId])
    return true
  })
}

export class UserDeletions {
  readonly #with: Collaborators
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #isStopped = false

  constructor(of: Collaborators) {
    this.#with = of
  }

  start(): void {
    this.#timer ??= setInterval(() => {
      this.#running ??= this.#finish()
    }, LOOK_EVERY_MS).unref()
  }

  /** Lets the current transaction finish. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#isStopped = true
    await this.#running
  }

  async #finish(): Promise<void> {
    const { database, clock, log } = this.#with
    const step = () => continueUserDeletion(database, clock.nowMs())
    try {
      while (!this.#isStopped && (await unlessAway(step, false)));
    } catch (error) {
      log.warn('cannot delete the sensors of a deleted user now', { error: String(error) })
    } finally {
      this.#running = undefined
    }
  }
}
