// Where PostgreSQL keeps what users see of their sensors.

import { ONLINE_COUNTS, sensorReads } from '../../control/sensors.ts'
import type { SensorTables } from '../../control/sensors.ts'
import { DATA_VERSION } from '../data-version.ts'

// Differs after every change: versions and settings only grow.
const VERSION = `
  SELECT i.epoch || ' ' || coalesce(max(u.settings), 0) || ' ' || coalesce(sum(t.version), 0)
    || ' ' || ${ONLINE_COUNTS} AS version
  FROM data_identity i
    LEFT JOIN user_state u ON u.user_id = $1
    LEFT JOIN sensor_state t ON t.user_id = $1
  GROUP BY i.epoch`

export const SENSOR_TABLES: SensorTables = {
  from: `
    sensors s JOIN user_state u ON u.user_id = s.user_id
      JOIN sensor_state t ON t.sensor_id = s.id`,
  dataVersion: DATA_VERSION,
  readVersion: VERSION,
}

export const SENSOR_READS = sensorReads(SENSOR_TABLES)
