// The accounts of sensors in a database.

import { callsOf } from '../../control/flow.ts'
import { sensorAccounts } from '../../control/sensor-accounts.ts'
import { decodeEntries } from '../../domain/measurement-columns.ts'
import { runFlow } from '../server/database.ts'
import type { Database } from '../server/database.ts'

const { read, ...OF_ONE_STATEMENT } = sensorAccounts({
  latest: 'sensor_state',
  everSetAside: `
    SELECT 1 WHERE pg_sequence_last_value(pg_get_serial_sequence('set_aside', 'id')) IS NOT NULL`,
  unforwarded: `
    SELECT j.stream_id AS stream, j.seq, j.entries
    FROM journal j JOIN stream_forwarded f ON f.shard = j.shard AND f.stream_id = j.stream_id
    WHERE j.shard = $1 AND (j.stream_id, j.seq) > ($2, $3) AND j.seq > f.seq
      AND j.entries IS NOT NULL
    ORDER BY j.stream_id, j.seq LIMIT 200`,
  decode: decodeEntries,
})

/**
 * For Citus; elsewhere it says nothing. With one connection to each worker, all that is read of a
 * worker is of one moment, thus also all of a sensor.
 */
const ONE_CONNECTION = 'SET LOCAL citus.max_adaptive_executor_pool_size = 1'

export function createAccounts(database: Database) {
  const { read: readIn } = callsOf({ read }, (begin) => {
    return database.view(async (sql) => {
      await sql.run(ONE_CONNECTION)
      return runFlow(sql, begin())
    })
  })
  return {
    name: 'PostgreSQL',
    ...callsOf(OF_ONE_STATEMENT, (begin) => runFlow(database, begin())),
    read: async (sensorIds: readonly number[]) =>
      readIn(sensorIds, (await database.readShards()).numbers),
  }
}
