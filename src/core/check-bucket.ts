// Checks the bucket in the settings at start, if InfluxDB is the measurement store.

import { UnfitSettings } from '../config.ts'
import type { Config } from '../config.ts'
import { SECOND_MS } from '../domain/time.ts'
import { checkInfluxBucket } from '../influx/bucket-check.ts'
import { InfluxConnection } from '../influx/connection.ts'
import type { Log } from '../ports/system.ts'

/** How long a start waits for InfluxDB to describe its bucket. */
const INFLUX_CHECK = { socketsMax: 1, timeoutMs: 5 * SECOND_MS }

/** The service starts without InfluxDB, but never with a bucket that expires data. */
export async function checkBucket({ influx }: Config, log: Log): Promise<void> {
  if (influx === undefined) return
  const connection = new InfluxConnection(influx, INFLUX_CHECK)
  const state = await checkInfluxBucket(connection)
  connection.close()
  if (state.kind === 'expires') throw new UnfitSettings(`${state.problem}: ${state.remedy}`)
  if (state.kind === 'created') log.info('created the bucket', { bucket: influx.influxBucket })
  if (state.kind === 'fault') log.error(state.problem, { remedy: state.remedy })
  if (state.kind === 'unreachable') {
    log.warn('InfluxDB is out of reach; the journal keeps measurements', { error: state.reason })
  }
}
