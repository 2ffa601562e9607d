// SensorDeletionJobs on PostgreSQL. A job is due once every stream has forwarded past the head that
// it had at the deletion; while the database is away, none is.

import { listDueDeletions } from '../../control/sensor-deletions.ts'
import type { SensorDeletionJobs } from '../../ports/store-upkeep.ts'
import { runFlow, unlessAway } from '../server/database.ts'
import type { Database } from '../server/database.ts'

const IS_FORWARDED = `
  NOT EXISTS (
    SELECT 1 FROM stream_forwarded f WHERE f.seq <
      (regexp_match(',' || d.heads, ',' || f.stream_id || ':(\\d+)'))[1]::bigint)
  ORDER BY sensor_id`
const NOTE_PASS = `
  UPDATE sensor_deletions SET passes = passes + 1, due_at_ms = $3
  WHERE sensor_id = $1 AND passes = $2`
const END = 'DELETE FROM sensor_deletions WHERE sensor_id = $1'
// In restored data it may live.
const FORGET_TIE_BREAKS = `
  DELETE FROM tie_breaks WHERE sensor_id = $1
    AND NOT EXISTS (SELECT 1 FROM sensor_state WHERE sensor_id = $1)`

export function createDeletionJobs(database: Database): SensorDeletionJobs {
  return {
    due: (nowMs) => unlessAway(() => runFlow(database, listDueDeletions(IS_FORWARDED, nowMs)), []),
    notePass: async ({ sensorId, passes }, dueAtMs) => {
      // A pass that is not recorded is done again.
      await unlessAway(async () => {
        if (dueAtMs !== undefined) return database.change(NOTE_PASS, [sensorId, passes, dueAtMs])
        await database.change(FORGET_TIE_BREAKS, [sensorId])
        return database.change(END, [sensorId])
      }, 0)
    },
  }
}
