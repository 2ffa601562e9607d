// Checks that control data agree: how many sensors a user has, that every live sensor has a state
// and a user, and how many bytes of refused entries are kept.

import type { Report } from '../../domain/finding.ts'
import type { Database } from '../server/database.ts'
import { RESTORE } from './remedies.ts'

const PROBLEMS = `
  SELECT 'user ' || u.id || ' has ' || count(s.id) || ' sensors, '
    || coalesce(t.sensors::text, 'none') || ' are counted' AS problem
  FROM users u LEFT JOIN user_state t ON t.user_id = u.id
    LEFT JOIN sensors s ON s.user_id = u.id AND s.deleted_at_ms IS NULL
  GROUP BY u.id, t.shard, t.sensors HAVING t.sensors IS DISTINCT FROM count(s.id)
  UNION ALL
  SELECT 'sensor ' || s.id || ' has no state'
  FROM sensors s LEFT JOIN sensor_state t ON t.shard = s.shard AND t.sensor_id = s.id
  WHERE s.deleted_at_ms IS NULL AND t.sensor_id IS NULL
  UNION ALL
  SELECT 'sensor ' || s.id || ' has no user'
  FROM sensors s LEFT JOIN user_state t ON t.shard = s.shard AND t.user_id = s.user_id
    LEFT JOIN user_deletions d ON d.shard = s.shard AND d.user_id = s.user_id
  WHERE s.serial_number <> '' AND t.user_id IS NULL AND d.user_id IS NULL
  UNION ALL
  SELECT 'user ' || coalesce(r.user_id, t.user_id) || ' has ' || coalesce(r.bytes, 0)
    || ' bytes of what was refused, ' || coalesce(t.bytes, 0) || ' are counted'
  FROM (SELECT user_id, sum(bytes) AS bytes FROM refused GROUP BY 1) AS r
    FULL JOIN refused_totals t ON t.user_id = r.user_id
  WHERE coalesce(r.bytes, 0) <> coalesce(t.bytes, 0)
  LIMIT 100`

export async function checkControl(database: Database, report: Report): Promise<void> {
  for (const { problem } of await database.rows<{ problem: string }>(PROBLEMS)) {
    report({ check: 'control', where: 'PostgreSQL', problem, remedy: RESTORE })
  }
}
