// ControlReader on SQLite: reads users, access tokens and sensors beside the thread that writes.

import { CONTROL_READS } from '../../control/reads.ts'
import { findPrincipal } from '../../control/tokens.ts'
import type { ControlReader } from '../../ports/control-reader.ts'
import type { StoreRecords } from '../../ports/store-upkeep.ts'
import type { Connection } from '../database.ts'
import { deriveCursorSecret, readEventSecret } from '../event-key.ts'
import { FlowRunner } from '../run-flow.ts'
import { CHANGES_READS, countSensorDeletions, SENSOR_READS } from './sensor-reads.ts'
import { STORE_RECORDS } from './store-records.ts'

export function createControlReader(db: Connection): ControlReader {
  const flows = new FlowRunner(db)
  return {
    ...flows.readingCalls({
      ...CONTROL_READS,
      ...SENSOR_READS,
      findPrincipal,
      countSensorDeletions,
    }),
    ...flows.viewingCalls(CHANGES_READS),
    readCursorSecret: async () => deriveCursorSecret(readEventSecret(db)),
  }
}

export function createStoreRecords(db: Connection): StoreRecords {
  return new FlowRunner(db).readingCalls(STORE_RECORDS)
}
