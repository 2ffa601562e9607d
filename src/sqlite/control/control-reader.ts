// ControlReader on SQLite: reads users, access tokens and sensors beside the thread that writes.

import { callsOf } from '../../control/calls.ts'
import { counted } from '../../control/flow.ts'
import { CONTROL_READS } from '../../control/reads.ts'
import { STORE_RECORDS } from '../../control/store-records.ts'
import { findPrincipal } from '../../control/tokens.ts'
import type { ControlReader } from '../../ports/control-reader.ts'
import type { StoreRecords } from '../../ports/store-upkeep.ts'
import type { Connection } from '../database.ts'
import { deriveCursorSecret, readEventSecret } from '../event-key.ts'
import { FlowRunner } from '../run-flow.ts'
import { readChanges } from './sensor-changes.ts'
import { SENSOR_READS } from './sensor-rows.ts'

const countSensorDeletions = () => counted('SELECT count(*) AS count FROM sensor_deletions')

export function createControlReader(db: Connection): ControlReader {
  const flows = new FlowRunner(db)
  const { readSensors, ...ofOneStatement } = SENSOR_READS
  return {
    ...callsOf(
      { ...CONTROL_READS, ...ofOneStatement, findPrincipal, countSensorDeletions },
      async (begin) => flows.run(begin()),
    ),
    ...callsOf({ readSensors, readChanges }, async (begin) =>
      db.transaction(() => flows.run(begin()))(),
    ),
    readCursorSecret: async () => deriveCursorSecret(readEventSecret(db)),
  }
}

export function createStoreRecords(db: Connection): StoreRecords {
  const flows = new FlowRunner(db)
  return callsOf(STORE_RECORDS, async (begin) => flows.run(begin()))
}
