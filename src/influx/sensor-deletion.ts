// Deletes a sensor's points so that they stay deleted.
//
// A deletion that coincides with a snapshot of InfluxDB's cache is acknowledged but deletes
// nothing, or only hides points until the next write to the series. So it is followed by one
// sentinel point in every affected shard, which makes hidden points visible again. The sensor
// counts as deleted only when nothing but the sentinels is left, and then they are gone too. After
// a crash or in doubt the job is left to its next run, which starts over.

import { setTimeout } from 'node:timers/promises'
import { StoreUnavailable } from '../domain/errors.ts'
import { DAY_MS, SECOND_MS, ceilToWindow, floorToWindow, formatInstant } from '../domain/time.ts'
import type { TimeRange } from '../domain/time.ts'
import { readFailure } from './connection.ts'
import type { InfluxConnection } from './connection.ts'
import type { FieldOfSensor } from './flux.ts'
import { SENSOR_INFO, TEMPERATURE, TEMPERATURE_FIELD, timestampNs } from './line-protocol.ts'
import { asUnavailable, countByDay } from './point-counts.ts'

/** Beyond five years only days that show points get sentinels: they may open a shard each. */
const SENTINEL_DAYS_MAX = 5 * 366

/** A snapshot takes seconds. */
const RETRY_PAUSES_MS: readonly number[] = [0.25 * SECOND_MS, SECOND_MS]

/** Infos have the time of a change: the range of any plausible clock. */
const ANY_TIME: TimeRange = { startMs: 0, stopMs: Date.UTC(2200, 0, 1) }

interface Series extends FieldOfSensor {
  readonly userId: number
}

export class SensorDeletion {
  readonly #connection: InfluxConnection
  readonly #writeLines: (lines: Buffer) => Promise<void>

  constructor(connection: InfluxConnection, writeLines: (lines: Buffer) => Promise<void>) {
    this.#connection = connection
    this.#writeLines = writeLines
  }

  /** @throws StoreUnavailable if it is not certain that everything is gone */
  async delete(
    sensor: { readonly userId: number; readonly sensorId: number },
    range: TimeRange,
  ): Promise<void> {
    const startMs = floorToWindow(range.startMs, DAY_MS)
    const stopMs = ceilToWindow(range.stopMs, DAY_MS)
    const measurements = { ...sensor, measurement: TEMPERATURE, field: TEMPERATURE_FIELD }
    if (startMs < stopMs) await this.#deleteSeries(measurements, { startMs, stopMs })
    const infos = { ...sensor, measurement: SENSOR_INFO, field: 'compensation' }
    await this.#deleteSeries(infos, ANY_TIME)
  }

  async #deleteSeries(series: Series, range: TimeRange): Promise<void> {
    if (await this.#deleteOnce(series, range)) return
    for (const pauseMs of RETRY_PAUSES_MS) {
      await setTimeout(pauseMs)
      if (await this.#deleteOnce(series, range)) return
    }
    const { sensorId, measurement } = series
    const what = `points of sensor ${sensorId} in ${measurement}`
    throw new StoreUnavailable(`InfluxDB still has ${what} after they were deleted`)
  }

  /** @returns whether they are certainly gone */
  async #deleteOnce(series: Series, range: TimeRange): Promise<boolean> {
    const daysMs = await this.#sentinelDays(series, range)
    await this.#deletePoints(series, range)
    if (daysMs.length === 0) return (await this.#countByDay(series, range)).size === 0
    const { measurement, field, userId, sensorId } = series
    const line = `${measurement},user_id=${userId},sensor_id=${sensorId} ${field}=0`
    const lines = daysMs.map((dayMs) => `${line} ${timestampNs(dayMs, 0)}\n`)
    await this.#writeLines(Buffer.from(lines.join('')))
    const counts = await this.#countByDay(series, range)
    const isAlone = counts.size === daysMs.length && daysMs.every((day) => counts.get(day) === 1)
    if (!isAlone) return false
    await this.#deletePoints(series, range)
    return (await this.#countByDay(series, range)).size === 0
  }

  // Every shard covers whole days, whatever the bucket's settings, and begins with a day.
  async #sentinelDays(series: Series, range: TimeRange): Promise<number[]> {
    const days = (range.stopMs - range.startMs) / DAY_MS
    if (days > SENTINEL_DAYS_MAX) return [...(await this.#countByDay(series, range)).keys()]
    return Array.from({ length: days }, (_, day) => range.startMs + day * DAY_MS)
  }

  #countByDay(series: Series, range: TimeRange): Promise<Map<number, number>> {
    return countByDay(this.#connection, series, range)
  }

  // The predicate is never empty: with an empty one InfluxDB deletes everything in the range.
  async #deletePoints({ measurement, userId, sensorId }: Series, range: TimeRange): Promise<void> {
    const { organization: org, influxBucket: bucket } = this.#connection.target
    const answer = await this.#exchangeDeletion(
      `/api/v2/delete?${new URLSearchParams({ org, bucket }).toString()}`,
      {
        start: formatInstant(range.startMs),
        // The stop is inclusive.
        stop: formatInstant(range.stopMs - 1).replace('Z', '999999Z'),
        predicate: [
          `_measurement="${measurement}"`,
          `user_id="${userId}"`,
          `sensor_id="${sensorId}"`,
        ].join(' AND '),
      },
    )
    if (answer.status === 204) return
    const { message } = readFailure(answer.body)
    throw new StoreUnavailable(`InfluxDB does not delete: ${message} (status ${answer.status})`, {
      isPaused: answer.status >= 400 && answer.status < 500,
    })
  }

  async #exchangeDeletion(path: string, body: Readonly<Record<string, string>>) {
    try {
      const contentType = 'application/json'
      const order = { method: 'POST', path, contentType, body: JSON.stringify(body) } as const
      return await this.#connection.exchange(order)
    } catch (error) {
      throw asUnavailable(error)
    }
  }
}
