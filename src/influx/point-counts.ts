// Counts of InfluxDB's points by sensor: to verify what is deleted, and what has arrived. And which
// ids they have, for those that come after a restore.

import { StoreUnavailable } from '../domain/errors.ts'
import type { HighestIds } from '../domain/ids-after-restore.ts'
import { DAY_MS, EVER } from '../domain/time.ts'
import type { TimeRange } from '../domain/time.ts'
import { InfluxUnreachable } from './connection.ts'
import type { InfluxConnection } from './connection.ts'
import { FluxFailure, queryRows } from './flux-rows.ts'
import type { FluxRows } from './flux-rows.ts'
import { countQuery, highestIdQuery, sensorsQuery } from './flux.ts'
import type { FieldOfSensor } from './flux.ts'
import { TEMPERATURE, TEMPERATURE_FIELD } from './line-protocol.ts'

/**
 * Values per UTC day, keyed by its start, for days that have any.
 *
 * @throws StoreUnavailable
 */
export async function countByDay(
  connection: InfluxConnection,
  series: FieldOfSensor,
  range: TimeRange,
): Promise<Map<number, number>> {
  const counts = new Map<number, number>()
  const query = countQuery(connection.target.influxBucket, series, range, DAY_MS)
  for await (const { timesMs, values } of ask(connection, query)) {
    for (const [at, dayMs] of timesMs.entries()) counts.set(dayMs, values[at] as number)
  }
  return counts
}

/** Counts of the measurements of sensors. */
export class MeasurementCounts {
  readonly #connection: InfluxConnection

  constructor(connection: InfluxConnection) {
    this.#connection = connection
  }

  /** @throws StoreUnavailable */
  countByDay(sensorId: number, range = EVER): Promise<Map<number, number>> {
    const series = { measurement: TEMPERATURE, field: TEMPERATURE_FIELD, sensorId }
    return countByDay(this.#connection, series, range)
  }

  /**
   * Every sensor that has a measurement.
   *
   * @throws StoreUnavailable
   */
  async sensorIds(): Promise<Set<number>> {
    const ids = new Set<number>()
    const query = sensorsQuery(this.#connection.target.influxBucket, EVER)
    for await (const { values } of ask(this.#connection, query)) {
      for (const id of values) ids.add(id)
    }
    return ids
  }
}

/**
 * The highest ids of users and sensors that have a measurement or an info.
 *
 * @throws StoreUnavailable
 */
export async function readHighestIds(connection: InfluxConnection): Promise<HighestIds> {
  const highest = async (tag: 'user_id' | 'sensor_id') => {
    let id = 0
    for await (const { values } of ask(
      connection,
      highestIdQuery(connection.target.influxBucket, tag, EVER),
    )) {
      id = Math.max(id, ...values)
    }
    return id
  }
  return { userId: await highest('user_id'), sensorId: await highest('sensor_id') }
}

/** Translates InfluxDB's errors for the store's callers; passes on others unchanged. */
export function asUnavailable(error: unknown): unknown {
  const isTheirs = error instanceof InfluxUnreachable || error instanceof FluxFailure
  return isTheirs ? new StoreUnavailable(error.message, { cause: error }) : error
}

async function* ask(connection: InfluxConnection, query: string): AsyncGenerator<FluxRows> {
  try {
    for await (const piece of queryRows(connection, query)) yield* piece
  } catch (error) {
    throw asUnavailable(error)
  }
}
