// The accounts of sensors in control.db: each call is a short transaction beside the commit thread.

import { sensorAccounts } from '../../control/sensor-accounts.ts'
import { CONTROL_FILE } from '../database.ts'
import type { Connection } from '../database.ts'
import { decodeEntries } from '../journal-row.ts'
import { FlowRunner } from '../run-flow.ts'

const ACCOUNTS = sensorAccounts({
  latest: 'sensor_latest',
  everSetAside: `SELECT 1 FROM sqlite_sequence WHERE name = 'set_aside' AND seq > 0`,
  unforwarded: `
    SELECT 0 AS stream, seq, entries FROM journal
    WHERE seq > (SELECT max(forwarded_seq, $2) FROM journal_watermark WHERE id = 1)
      AND entries IS NOT NULL
    ORDER BY seq LIMIT 200`,
  decode: decodeEntries,
})

export function createAccounts(db: Connection) {
  return { name: CONTROL_FILE, ...new FlowRunner(db).viewingCalls(ACCOUNTS) }
}
