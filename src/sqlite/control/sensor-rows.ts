// Where SQLite has what users see of their sensors.

import { sensorReads } from '../../control/sensors.ts'
import type { SensorTables } from '../../control/sensors.ts'

// Journal rows and info times only grow, so their sums reveal any change to existing sensors; the
// highest id and the count reveal which sensors exist; and without news, the number online only
// falls.
const VERSION = `
  SELECT count(*) || ' ' || ifnull(max(id), 0) || ' ' || ifnull(sum(info_at_ms), 0) || ' ' ||
    ifnull(sum(data_seq), 0) || ' ' ||
    count(*) FILTER (WHERE last_seen_at_ms >= $3 AND measured_at_ms >= $3) AS version
  FROM sensors LEFT JOIN sensor_latest ON sensor_id = id
  WHERE user_id = $1 AND deleted_at_ms IS NULL`

export const SENSOR_TABLES: SensorTables = {
  from: 'sensors s LEFT JOIN sensor_latest t ON t.sensor_id = s.id',
  dataVersion: 'CAST(ifnull(t.data_seq, 0) AS text)',
  readVersion: VERSION,
}

export const SENSOR_READS = sensorReads(SENSOR_TABLES)
