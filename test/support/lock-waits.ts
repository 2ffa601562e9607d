// What waits for locks in a database, and what is connected to it, on whichever node of it.

import { ask } from './lanes.ts'

const WAITING = `wait_event_type = 'Lock' AND datname = current_database()`

/**
 * The connection of a client also where a worker waits for it. One that is just being opened has no
 * name among all nodes yet, or 0, only its place on its own.
 */
const PID_OF_CLIENT = 'coalesce(nullif(global_pid, 0), citus_calculate_gpid(nodeid, pid))'

/** How many statements wait. */
export async function countLockWaits(url: string): Promise<number> {
  return (await ask(url, `SELECT FROM ${await activityOf(url)} WHERE ${WAITING}`)).length
}

/** Ends the connections whose statements wait. */
export function endLockWaits(url: string): Promise<void> {
  return endConnections(url, WAITING)
}

/** Ends all connections of processes. */
export function cutProcesses(url: string): Promise<void> {
  return endConnections(url, `application_name = 'thermolog'`)
}

async function endConnections(url: string, condition: string): Promise<void> {
  const activity = await activityOf(url)
  const pid = activity === 'pg_stat_activity' ? 'pid' : PID_OF_CLIENT
  await ask(url, `SELECT pg_terminate_backend(${pid}) FROM ${activity} WHERE ${condition}`)
}

/** Where a database is spread over nodes, the view of all of them. */
async function activityOf(url: string): Promise<string> {
  const [found] = await ask<{ isSpread: boolean }>(
    url,
    `SELECT to_regclass('citus_stat_activity') IS NOT NULL AS "isSpread"`,
  )
  return found?.isSpread === true ? 'citus_stat_activity' : 'pg_stat_activity'
}
