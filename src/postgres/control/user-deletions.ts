// Finishes the deletion of a user: deletes their sensors, a few in each transaction, and erases
// personal data. Any process may run the next transaction, one process at a time; if it is
// interrupted, it is repeated. The user's state is already gone, so no group registers a sensor for
// them, writes to one, or waits for it.

import { SECOND_MS } from '../../domain/time.ts'
import type { Clock, Log } from '../../ports/system.ts'
import { unlessAway } from '../server/database.ts'
import type { Database } from '../server/database.ts'
import type { ShardServer } from '../server/shard-servers.ts'
import { removeStates } from './sensor-writes.ts'

interface Collaborators {
  /** On which the users' sensors are. */
  readonly server: ShardServer
  readonly clock: Clock
  readonly log: Log
}

const LOOK_EVERY_MS = SECOND_MS
/** About 20 ms of work. */
const SENSORS_AT_ONCE = 200

const FIND = `
  SELECT shard, user_id AS "userId" FROM user_deletions
  WHERE shard = ANY ($1::smallint[]) ORDER BY shard, user_id LIMIT 100`
const TAKE = `
  SELECT 1 FROM user_deletions WHERE shard = $1 AND user_id = $2 FOR UPDATE SKIP LOCKED`
// Including sensors deleted before, because they have serial numbers too.
const SENSORS = `
  SELECT id FROM sensors WHERE shard = $1 AND user_id = $2 AND serial_number <> ''
  ORDER BY id LIMIT ${SENSORS_AT_ONCE}`
const ERASE = `
  UPDATE sensors SET deleted_at_ms = coalesce(deleted_at_ms, $3), serial_number = '',
    serial_number_key = '', alias = '', compensation_celsius = 0
  WHERE shard = $1 AND id = ANY ($2::int[])`
const END = 'DELETE FROM user_deletions WHERE shard = $1 AND user_id = $2'

interface DeletedUser {
  readonly shard: number
  readonly userId: number
}

/** @returns whether it found work that no other process was doing */
export async function continueUserDeletion(
  { database, shards }: ShardServer,
  nowMs: number,
): Promise<boolean> {
  for (const user of await database.rows<DeletedUser>(FIND, [shards])) {
    if (await deleteSome(database, user, nowMs)) return true
  }
  return false
}

function deleteSome(database: Database, user: DeletedUser, nowMs: number): Promise<boolean> {
  return database.transaction(async (sql) => {
    const { shard, userId } = user
    if ((await sql.rows(TAKE, [shard, userId])).length === 0) return false
    const sensors = await sql.rows<{ id: number }>(SENSORS, [shard, userId])
    const ids = sensors.map(({ id }) => id)
    await removeStates(sql, shard, ids, nowMs)
    await sql.change(ERASE, [shard, ids, nowMs])
    if (ids.length < SENSORS_AT_ONCE) await sql.change(END, [shard, userId])
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
    const { server, clock, log } = this.#with
    const step = () => continueUserDeletion(server, clock.nowMs())
    try {
      while (!this.#isStopped && (await unlessAway(step, false)));
    } catch (error) {
      log.warn('cannot delete the sensors of a deleted user now', { error: String(error) })
    } finally {
      this.#running = undefined
    }
  }
}
