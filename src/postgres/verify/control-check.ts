// Checks that control data agree: how many sensors a user has, that every user and live sensor has
// a state, every sensor a user, and how many bytes of refused entries are kept.

import { setTimeout } from 'node:timers/promises'
import type { Report } from '../../domain/finding.ts'
import type { Database } from '../server/database.ts'
import { RESTORE } from './remedies.ts'

const COUNTED_WRONG = `
  SELECT 'user ' || t.user_id || ' has ' || coalesce(s.sensors, 0) || ' sensors, ' || t.sensors
    || ' are counted' AS problem
  FROM user_state t LEFT JOIN (
    SELECT shard, user_id, count(*) AS sensors FROM sensors
    WHERE deleted_at_ms IS NULL GROUP BY 1, 2
  ) AS s ON s.shard = t.shard AND s.user_id = t.user_id
  WHERE t.sensors <> coalesce(s.sensors, 0)`
const USERS_WITHOUT_STATE = `
  SELECT 'user ' || u.id || ' has no state' AS problem
  FROM users u LEFT JOIN user_state t ON t.user_id = u.id WHERE t.user_id IS NULL`
const SENSORS_WITHOUT_STATE = `
  SELECT 'sensor ' || s.id || ' has no state' AS problem
  FROM sensors s LEFT JOIN sensor_state t ON t.shard = s.shard AND t.sensor_id = s.id
  WHERE s.deleted_at_ms IS NULL AND t.sensor_id IS NULL`
const SENSORS_WITHOUT_USER = `
  SELECT 'sensor ' || s.id || ' has no user' AS problem
  FROM sensors s LEFT JOIN user_state t ON t.shard = s.shard AND t.user_id = s.user_id
    LEFT JOIN user_deletions d ON d.shard = s.shard AND d.user_id = s.user_id
  WHERE s.serial_number <> '' AND t.user_id IS NULL AND d.user_id IS NULL`
const REFUSED_COUNTED_WRONG = `
  SELECT 'user ' || coalesce(r.user_id, t.user_id) || ' has ' || coalesce(r.bytes, 0)
    || ' bytes of what was refused, ' || coalesce(t.bytes, 0) || ' are counted' AS problem
  FROM (SELECT user_id, sum(bytes) AS bytes FROM refused GROUP BY 1) AS r
    FULL JOIN refused_totals t ON t.user_id = r.user_id
  WHERE coalesce(r.bytes, 0) <> coalesce(t.bytes, 0)`

const CHECKS = [
  COUNTED_WRONG,
  USERS_WITHOUT_STATE,
  SENSORS_WITHOUT_STATE,
  SENSORS_WITHOUT_USER,
  REFUSED_COUNTED_WRONG,
]

/** Longer than a commit takes to arrive on all machines. */
const LOOK_AGAIN_AFTER_MS = 200

/**
 * A user's row and state are on different machines, where they come and go at different moments:
 * only what is found twice is wrong.
 */
export async function checkControl(database: Database, report: Report): Promise<void> {
  for (const check of CHECKS) {
    const first = await problemsOf(database, check)
    if (first.length === 0) continue
    await setTimeout(LOOK_AGAIN_AFTER_MS)
    const again = new Set(await problemsOf(database, check))
    for (const problem of first.filter((one) => again.has(one))) {
      report({ check: 'control', where: 'PostgreSQL', problem, remedy: RESTORE })
    }
  }
}

async function problemsOf(database: Database, check: string): Promise<readonly string[]> {
  const rows = await database.rows<{ problem: string }>(`${check} ORDER BY 1 LIMIT 100`)
  return rows.map(({ problem }) => problem)
}
