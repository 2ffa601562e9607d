// Reading the measurement store of the settings.

import { join } from 'node:path'
import type { Config } from '../config.ts'
import { SECOND_MS } from '../domain/time.ts'
import { InfluxConnection } from '../influx/connection.ts'
import { InfluxMeasurementReader } from '../influx/measurement-reader.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'
import { MEASUREMENTS_FILE } from '../sqlite/database.ts'
import { SqliteMeasurementReader } from '../sqlite/measurements/measurement-reader.ts'

/**
 * Reads of histories at once. Who reads has an answer or 503 in ten seconds, two of which a history
 * may have waited for what is on its way.
 */
const INFLUX_READS = { socketsMax: 8, timeoutMs: 8 * SECOND_MS }

export function openReader({ dataDir, influx }: Config): MeasurementReader {
  return influx === undefined
    ? new SqliteMeasurementReader(join(dataDir, MEASUREMENTS_FILE))
    : new InfluxMeasurementReader(new InfluxConnection(influx, INFLUX_READS))
}
