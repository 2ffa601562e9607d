// ControlReader on SQLite: reads users, access tokens and sensors beside the thread that writes.

import { callsOf } from '../../control/calls.ts'
import { CONTROL_READS } from '../../control/reads.ts'
import { STORE_RECORDS } from '../../control/store-records.ts'
import { findPrincipal } from '../../control/tokens.ts'
import type { ControlReader } from '../../ports/control-reader.ts'
import type { StoreRecords } from '../../ports/store-upkeep.ts'
import type { Connection } from '../database.ts'
import { deriveCursorSecret, readEventSecret } from '../event-secret.ts'
import { ChangeRows } from './change-rows.ts'
import { FlowRunner } from '../run-flow.ts'
import { SensorDeletionRows } from './sensor-deletion-rows.ts'
import { SensorRows } from './sensor-rows.ts'

export function createControlReader(db: Connection): ControlReader {
  const flows = new FlowRunner(db)
  const sensors = new SensorRows(db)
  const changes = new ChangeRows(db, sensors)
  const deletions = new SensorDeletionRows(db)
  return {
    ...callsOf(CONTROL_READS, async (begin) => flows.run(begin())),
    findPrincipal: async (tokenHash) => flows.run(findPrincipal(tokenHash)),
    readCursorSecret: async () => deriveCursorSecret(readEventSecret(db)),
    listSensors: async (userId) => sensors.list(userId),
    findSensor: async (userId, sensorId) => sensors.find(userId, sensorId),
    findSensorOfAnyone: async (sensorId) => sensors.findOfAnyone(sensorId),
    readSensors: async (userId, onlineSinceMs, isKnown) =>
      // One transaction, so that the version is of exactly the sensors read.
      db.transaction(() => {
        const version = sensors.version(userId, onlineSinceMs)
        return { version, sensors: isKnown(version) ? undefined : sensors.list(userId) }
      })(),
    readChanges: async (question) => db.transaction(() => changes.read(question))(),
    countSensorDeletions: async () => deletions.count(),
  }
}

export function createStoreRecords(db: Connection): StoreRecords {
  const flows = new FlowRunner(db)
  return callsOf(STORE_RECORDS, async (begin) => flows.run(begin()))
}
