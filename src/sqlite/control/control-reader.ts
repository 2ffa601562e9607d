// ControlReader on SQLite: reads users, access tokens and sensors beside the thread that writes.

import { callsOf } from '../../control/calls.ts'
import { CONTROL_READS } from '../../control/reads.ts'
import { STORE_RECORDS } from '../../control/store-records.ts'
import { findPrincipal } from '../../control/tokens.ts'
import type { ControlReader } from '../../ports/control-reader.ts'
import type { StoreRecords } from '../../ports/store-upkeep.ts'
import type { Connection } from '../database.ts'
import { deriveCursorSecret, readEventSecret } from '../event-secret.ts'
import { FlowRunner } from '../run-flow.ts'
import { readChanges } from './sensor-changes.ts'
import { SensorDeletionRows } from './sensor-deletion-rows.ts'
import { SENSOR_READS } from './sensor-rows.ts'

export function createControlReader(db: Connection): ControlReader {
  const flows = new FlowRunner(db)
  const { readSensors, ...ofOneStatement } = SENSOR_READS
  const deletions = new SensorDeletionRows(db)
  return {
    ...callsOf({ ...CONTROL_READS, ...ofOneStatement, findPrincipal }, async (begin) =>
      flows.run(begin()),
    ),
    ...callsOf({ readSensors, readChanges }, async (begin) =>
      db.transaction(() => flows.run(begin()))(),
    ),
    readCursorSecret: async () => deriveCursorSecret(readEventSecret(db)),
    countSensorDeletions: async () => deletions.count(),
  }
}

export function createStoreRecords(db: Connection): StoreRecords {
  const flows = new FlowRunner(db)
  return callsOf(STORE_RECORDS, async (begin) => flows.run(begin()))
}
