// InfluxDB as the measurement store in the settings: checks its bucket, opens it for reading, and
// asks which ids it knows.

import { UnfitSettings } from '../config.ts'
import type { InfluxConfig } from '../config.ts'
import { postponedError, StoreUnavailable } from '../domain/errors.ts'
import type { HighestIds } from '../domain/ids-after-restore.ts'
import { MINUTE_MS, SECOND_MS } from '../domain/time.ts'
import { checkInfluxBucket } from '../influx/bucket-check.ts'
import { InfluxConnection } from '../influx/connection.ts'
import { InfluxMeasurementReader } from '../influx/measurement-reader.ts'
import { readHighestIds } from '../influx/point-counts.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'
import type { Log } from '../ports/system.ts'

/**
 * Concurrent reads for histories. A reader gets a response or 503 within ten seconds; a history may
 * already have waited two of these for measurements in transit.
 */
const INFLUX_READS = { socketsMax: 8, timeoutMs: 8 * SECOND_MS }

/** How long a start waits for InfluxDB to describe its bucket. */
const INFLUX_CHECK = { socketsMax: 1, timeoutMs: 5 * SECOND_MS }

/** How long InfluxDB may take to look through all ids. */
const INFLUX_IDS = { socketsMax: 1, timeoutMs: MINUTE_MS }

/** The service starts without InfluxDB, but never with a bucket that expires data. */
export async function checkBucket(influx: InfluxConfig, log: Log): Promise<void> {
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

export function openInfluxReader(influx: InfluxConfig): MeasurementReader {
  return new InfluxMeasurementReader(new InfluxConnection(influx, INFLUX_READS))
}

/**
 * @throws UnfitSettings if the settings name no usable bucket
 * @throws ServiceError `overloaded`: InfluxDB is unreachable
 */
export async function readInfluxIds(influx: InfluxConfig): Promise<HighestIds> {
  const connection = new InfluxConnection(influx, INFLUX_IDS)
  try {
    const state = await checkInfluxBucket(connection)
    if (state.kind === 'unreachable') throw outOfReach(state.reason)
    if (state.kind === 'fault' || state.kind === 'expires') {
      throw new UnfitSettings(`${state.problem}: ${state.remedy}`)
    }
    return await readHighestIds(connection)
  } catch (error) {
    throw error instanceof StoreUnavailable ? outOfReach(error.message) : error
  } finally {
    connection.close()
  }
}

function outOfReach(reason: string): Error {
  return postponedError('overloaded', {
    detail: 'InfluxDB does not report which ids have measurements.',
    hint: `Nothing has been changed. Try again when it responds: ${reason}`,
  })
}
