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
    FROM journal j JOIN stream_forwarded f ON f.stream_id = j.stream_id
    WHERE (j.stream_id, j.seq) > ($1, $2) AND j.seq > f.seq
      AND j.entries IS NOT NULL
    ORDER BY j.stream_id, j.seq LIMIT 200`,
  decode: decodeEntries,
})

export function createAccounts(database: Database) {
  return {
    name: 'PostgreSQL',
    ...callsOf({ read }, (begin) => database.view((sql) => runFlow(sql, begin()))),
    ...callsOf(OF_ONE_STATEMENT, (begin) => runFlow(database, begin())),
  }
}
