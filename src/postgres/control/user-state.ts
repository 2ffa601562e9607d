// A user's state, which only PostgreSQL has: the lock for changing which sensors they have.

import { change } from '../../control/flow.ts'
import type { Flow } from '../../control/flow.ts'
import { lockUser, mayLeave } from '../../control/users.ts'
import { runFlow } from '../server/database.ts'
import type { Sql } from '../server/database.ts'

const INSERT_USER_STATE = 'INSERT INTO user_state (user_id) VALUES ($1)'
// Waits for a group that is registering sensors; after that, no group writes to the user's sensors.
const DELETE_USER_STATE = `
  DELETE FROM user_state WHERE user_id = $1 RETURNING sensors`
const ORDER_DELETION = 'INSERT INTO user_deletions (user_id) VALUES ($1)'
// Before the entries: src/control/refused.ts locks in this order too.
const DELETE_REFUSED_TOTAL = 'DELETE FROM refused_totals WHERE user_id = $1'
// Deletes tokens, identities and refused entries too.
const DELETE_USER = 'DELETE FROM users WHERE id = $1'

export function* addUserState(userId: number): Flow<void> {
  yield* change(INSERT_USER_STATE, userId)
}

/**
 * Begins what user-deletions.ts finishes: the user is gone, and nobody owns the sensors.
 *
 * @returns how many sensors they had, `undefined` if there is no such user
 */
export async function deleteUser(sql: Sql, userId: number): Promise<number | undefined> {
  if ((await runFlow(sql, lockUser(userId))) === undefined) return undefined
  const [state] = await sql.rows<{ sensors: number }>(DELETE_USER_STATE, [userId])
  await sql.change(ORDER_DELETION, [userId])
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
