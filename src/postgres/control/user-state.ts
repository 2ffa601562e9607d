// A user's state, which only PostgreSQL has: the lock for changing which sensors they have. On
// Citus it is on a worker, and the user on the coordinator: both come and go together.

import { change } from '../../control/flow.ts'
import type { Flow } from '../../control/flow.ts'
import { lockUser, mayLeave } from '../../control/users.ts'
import { shardOf } from '../../domain/shard.ts'
import { runFlow } from '../server/database.ts'
import type { Sql } from '../server/database.ts'

const COMMIT_WHOLE = 'DELETE FROM whole_commits'
const INSERT_USER_STATE = 'INSERT INTO user_state (shard, user_id) VALUES ($1, $2)'
// Waits for a group that is registering sensors; after that, no group writes to the user's sensors.
const DELETE_USER_STATE = `
  DELETE FROM user_state WHERE shard = $1 AND user_id = $2 RETURNING sensors`
const ORDER_DELETION = 'INSERT INTO user_deletions (shard, user_id) VALUES ($1, $2)'
// Before the entries: src/control/refused.ts locks in this order too.
const DELETE_REFUSED_TOTAL = 'DELETE FROM refused_totals WHERE user_id = $1'
// Deletes tokens, identities and refused entries too.
const DELETE_USER = 'DELETE FROM users WHERE id = $1'

export function* addUserState(userId: number): Flow<void> {
  yield* change(COMMIT_WHOLE)
  yield* change(INSERT_USER_STATE, shardOf(userId), userId)
}

/**
 * Begins what user-deletions.ts finishes: the user is gone, and nobody owns the sensors.
 *
 * @returns how many sensors they had, `undefined` if there is no such user
 */
export async function deleteUser(sql: Sql, userId: number): Promise<number | undefined> {
  if ((await runFlow(sql, lockUser(userId))) === undefined) return undefined
  await sql.change(COMMIT_WHOLE)
  const user = [shardOf(userId), userId]
  const [state] = await sql.rows<{ sensors: number }>(DELETE_USER_STATE, user)
  await sql.change(ORDER_DELETION, user)
  await sql.change(DELETE_REFUSED_TOTAL, [userId])
  await sql.change(DELETE_USER, [userId])
  return state?.sensors ?? 0
}

/** The same, for a user who may delete their own account. @returns see `mayLeave` */
export async function deleteAccount(
  sql: Sql,
  { userId, nowMs }: { userId: number; nowMs: number },
): Promise<boolean | undefined> {
  return (
    (await runFlow(sql, mayLeave(userId, nowMs))) && (await deleteUser(sql, userId)) !== undefined
  )
}
