// Checks that control data agree: how many sensors a user has, that every user and live sensor has
// a state, every sensor a user, and how many bytes of refused entries are kept.

import type { Report } from '../../domain/finding.ts'
import type { Database } from '../server/database.ts'
import { RESTORE } from './remedies.ts'

const COUNTED_WRONG = `
  SELECT 'user ' || t.user_id || ' has ' || coalesce(s.sensors, 0) || ' sensors, ' || t.sensors
    || ' are counted' AS problem
  FROM user_state t LEFT JOIN (
    SELECT user_id, count(*) AS sensors FROM sensors
    WHERE deleted_at_ms IS NULL GROUP BY 1
  ) AS s ON s.user_id = t.user_id
  WHERE t.sensors <> coalesce(s.sensors, 0)`
const USERS_WITHOUT_STATE = `
  SELECT 'user ' || u.id || ' has no state' AS problem
  FROM users u LEFT JOIN user_state t ON t.user_id = u.id WHERE t.user_id IS NULL`
const SENSORS_WITHOUT_STATE = `
  SELECT 'sensor ' || s.id || ' has no state' AS problem
  FROM sensors s LEFT JOIN sensor_state t ON t.sensor_id = s.id
  WHERE s.deleted_at_ms IS NULL AND t.sensor_id IS NULL`
const SENSORS_WITHOUT_USER = `
  SELECT 'sensor ' || s.id || ' has no user' AS problem
  FROM sensors s LEFT JOIN user_state t ON t.user_id = s.user_id
    LEFT JOIN user_deletions d ON d.user_id = s.user_id
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

export async function checkControl(database: Database, report: Report): Promise<void> {
  for (const check of CHECKS) {
    const rows = await database.rows<{ problem: string }>(`${check} ORDER BY 1 LIMIT 100`)
    for (const { problem } of rows) {
      report({ check: 'control', where: 'PostgreSQL', problem, remedy: RESTORE })
    }
  }
}
