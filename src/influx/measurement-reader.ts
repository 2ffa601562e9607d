// The reading side of InfluxDB as the measurement store.
//
// Raw measurements are passed on as they arrive. Windows arrive as one result per aggregate, all of
// the first before any of the second: a long range is therefore queried in parts, so that memory
// never holds more than one part.

import { ServiceError } from '../domain/errors.ts'
import type { RawPoint, SeriesRange, WindowSummary } from '../domain/history.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'
import { InfluxUnreachable } from './connection.ts'
import type { InfluxConnection } from './connection.ts'
import { FluxFailure, queryRows } from './flux-rows.ts'
import type { FluxRows } from './flux-rows.ts'
import { rawQuery, windowsQuery } from './flux.ts'
import { WindowTables } from './window-tables.ts'

/** A year of hours in one request, and 1 MB of memory. */
const PART_WINDOWS_MAX = 10_000

/** Reads of one part, if each of them overlaps a write. */
const ATTEMPTS_MAX = 5

const RETRY_AFTER_SECONDS = 5

export class InfluxMeasurementReader implements MeasurementReader {
  readonly #connection: InfluxConnection
  readonly #influxBucket: string

  /** Takes over the connection and closes it in `close`. */
  constructor(connection: InfluxConnection) {
    this.#connection = connection
    this.#influxBucket = connection.target.influxBucket
  }

  async *readRaw(range: SeriesRange): AsyncIterable<readonly RawPoint[]> {
    if (range.startMs >= range.stopMs) return
    for await (const { timesMs, values } of this.#query(rawQuery(this.#influxBucket, range))) {
      yield timesMs.map((measuredAtMs, at) => ({ measuredAtMs, rawCelsius: values[at] as number }))
    }
  }

  async *readWindows(
    range: SeriesRange,
    windowMs: number,
  ): AsyncIterable<readonly WindowSummary[]> {
    const partMs = PART_WINDOWS_MAX * windowMs
    for (let { startMs } = range; startMs < range.stopMs; startMs += partMs) {
      const stopMs = Math.min(startMs + partMs, range.stopMs)
      const summaries = await this.#readPart({ ...range, startMs, stopMs }, windowMs)
      if (summaries.length > 0) yield summaries
    }
  }

  async close(): Promise<void> {
    this.#connection.close()
  }

  async #readPart(range: SeriesRange, windowMs: number): Promise<WindowSummary[]> {
    const query = windowsQuery(this.#influxBucket, range, windowMs)
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const tables = new WindowTables()
      for await (const rows of this.#query(query)) tables.add(rows)
      const summaries = tables.join()
      if (summaries !== undefined) return summaries
    }
    throw unavailable('measurements are written faster than they can be summarised')
  }

  async *#query(query: string): AsyncGenerator<FluxRows> {
    try {
      yield* queryRows(this.#connection, query)
    } catch (error) {
      // A query that InfluxDB rejects is a bug of ours, which waiting does not fix.
      const isOurs = error instanceof FluxFailure && error.status === 400
      const isTheirs = error instanceof InfluxUnreachable || error instanceof FluxFailure
      if (isOurs || !isTheirs) throw error
      throw unavailable(error.message, error)
    }
  }
}

function unavailable(reason: string, cause?: Error): ServiceError {
  return new ServiceError('history_unavailable', {
    detail: 'The measurement store cannot be read at the moment.',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    hint: `cannot read measurements from InfluxDB: ${reason}`,
    ...(cause !== undefined && { cause }),
  })
}
