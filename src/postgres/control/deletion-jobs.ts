// SensorDeletionJobs on PostgreSQL. A job is due once every stream has forwarded past the head that
// it had at the deletion; while the database is away, none is.

import { listDueDeletions } from '../../control/sensor-deletions.ts'
import type { SensorDeletionJobs } from '../../ports/store-upkeep.ts'
import { shardOf } from '../../domain/shard.ts'
import { runFlow, unlessAway } from '../server/database.ts'
import type { ShardServer } from '../server/shard-servers.ts'

const IS_FORWARDED = `
  d.shard = ANY ($2::smallint[]) AND NOT EXISTS (
    SELECT 1 FROM stream_forwarded f
    WHERE f.shard = ANY ($2::smallint[]) AND f.shard = d.shard AND f.seq <
      (regexp_match(',' || d.heads, ',' || f.stream_id || ':(\\d+)'))[1]::bigint)
  ORDER BY shard, sensor_id`
const NOTE_PASS = `
  UPDATE sensor_deletions SET passes = passes + 1, due_at_ms = $4
  WHERE shard = $1 AND sensor_id = $2 AND passes = $3`
const END = 'DELETE FROM sensor_deletions WHERE shard = $1 AND sensor_id = $2'
const FORGET_TIE_BREAKS = 'DELETE FROM tie_breaks WHERE shard = $1 AND sensor_id = $2'

/** Of the sensors of one server. */
export function createDeletionJobs({ database, shards }: ShardServer): SensorDeletionJobs {
  return {
    due: (nowMs) =>
      unlessAway(() => runFlow(database, listDueDeletions(IS_FORWARDED, nowMs, shards)), []),
    notePass: async ({ userId, sensorId, passes }, dueAtMs) => {
      const sensor = [shardOf(userId), sensorId]
      // A pass that is not recorded is done again.
      await unlessAway(async () => {
        if (dueAtMs !== undefined) return database.change(NOTE_PASS, [...sensor, passes, dueAtMs])
        await database.change(FORGET_TIE_BREAKS, sensor)
        return database.change(END, sensor)
      }, 0)
    },
  }
}
