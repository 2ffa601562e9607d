// The writer of InfluxDB, for the forward thread and for processes that forward without one.

import { SECOND_MS } from '../domain/time.ts'
import { checkInfluxBucket } from './bucket-check.ts'
import { InfluxConnection } from './connection.ts'
import type { InfluxTarget } from './connection.ts'
import { InfluxMeasurementWriter } from './measurement-writer.ts'
import type { MeasurementWriter } from '../ports/measurement-store.ts'
import type { Clock, Log } from '../ports/system.ts'

/** Concurrent requests (for two writes and a deletion), and how long each may take. */
const INFLUX_WRITES = { socketsMax: 8, timeoutMs: 30 * SECOND_MS }

export function openInfluxWriter(
  target: InfluxTarget,
  of: { readonly clock: Clock; readonly log: Log },
): MeasurementWriter {
  const connection = new InfluxConnection(target, INFLUX_WRITES)
  return new InfluxMeasurementWriter({
    ...of,
    connection,
    checkBucket: () => checkInfluxBucket(connection),
  })
}
