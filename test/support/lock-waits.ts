// What waits for locks in a database, and what is connected to it.

import { ask } from './lanes.ts'

const WAITING = `wait_event_type = 'Lock' AND datname = current_database()`

/** How many statements wait. */
export async function countLockWaits(url: string): Promise<number> {
  return (await ask(url, `SELECT FROM pg_stat_activity WHERE ${WAITING}`)).length
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
  await ask(url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${condition}`)
}
