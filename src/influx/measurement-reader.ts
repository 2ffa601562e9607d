// The reading side of InfluxDB as the measurement store.
//
// Raw measurements are passed on as they arrive. Windows arrive as one result per aggregate, all of
// the first before any of the second: a long range is therefore queried in parts, so that memory
// never holds more than one part.

import { setImmediate } from 'node:timers/promises'
import { ServiceError } from '../domain/errors.ts'
import { countMeasurements } from '../domain/history.ts'
import type { Selector, SeriesRange, StoredPoint, WindowSummary } from '../domain/history.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'
import { InfluxUnreachable } from './connection.ts'
import type { InfluxConnection } from './connection.ts'
import { FluxFailure, queryRows } from './flux-rows.ts'
import type { FluxRows } from './flux-rows.ts'
import { aggregatesOf, oneQuery, rawQuery, totalsQuery, windowsQuery } from './flux.ts'
import { SilenceWatch } from './silence-watch.ts'
import { WindowTables } from './window-tables.ts'

/** Of one sensor a year of hours in one request, and 1 MB of memory; of many together 20 MB. */
const SENSOR_WINDOWS_MAX = 10_000
const PART_WINDOWS_MAX = 200_000

/** Windows between which other work runs. */
const CHUNK_WINDOWS = 500

/** Reads of one part, if each of them overlaps a write. */
const ATTEMPTS_MAX = 5

const RETRY_AFTER_SECONDS = 5

export class InfluxMeasurementReader implements MeasurementReader {
  readonly #connection: InfluxConnection
  readonly #influxBucket: string
  readonly #silence: SilenceWatch

  /** Takes over the connection and closes it in `close`. */
  constructor(connection: InfluxConnection) {
    this.#connection = connection
    this.#influxBucket = connection.target.influxBucket
    this.#silence = new SilenceWatch(connection.target)
  }

  async refuseIfSilent(): Promise<void> {
    if (!(await this.#silence.isSilent())) return
    throw unavailable('it has stopped answering, and is pinged until it does again')
  }

  async *readRaw(range: SeriesRange): AsyncIterable<readonly StoredPoint[]> {
    if (isEmpty(range)) return
    yield* this.#points(rawQuery(this.#influxBucket, range))
  }

  async *readOne(range: SeriesRange, selector: Selector): AsyncIterable<readonly StoredPoint[]> {
    if (isEmpty(range)) return
    yield* this.#points(oneQuery(this.#influxBucket, range, selector))
  }

  async *readWindows(
    range: SeriesRange,
    windowMs: number,
  ): AsyncIterable<readonly WindowSummary[]> {
    const windows = (range.stopMs - range.startMs) / windowMs
    const parts = await this.#partsOf(range, windows)
    if (parts === 0) return
    const partMs = Math.ceil(windows / parts) * windowMs
    for (let { startMs } = range; startMs < range.stopMs; startMs += partMs) {
      const stopMs = Math.min(startMs + partMs, range.stopMs)
      yield* this.#summaries({ ...range, startMs, stopMs }, (part) =>
        windowsQuery(this.#influxBucket, part, windowMs),
      )
    }
  }

  async *readTotals(range: SeriesRange): AsyncIterable<readonly WindowSummary[]> {
    const { startMs } = range
    const totals = this.#summaries(range, (part) => totalsQuery(this.#influxBucket, part))
    // InfluxDB has one that begins before 1970 begin then.
    for await (const chunk of totals) yield chunk.map((total) => ({ ...total, startMs }))
  }

  async close(): Promise<void> {
    this.#silence.close()
    this.#connection.close()
  }

  /** How many parts of the range are few enough windows each. */
  async #partsOf(range: SeriesRange, windows: number): Promise<number> {
    const most = windows * range.sensorIds.length
    if (range.sensorIds.length === 1) return Math.ceil(windows / SENSOR_WINDOWS_MAX)
    if (most <= PART_WINDOWS_MAX) return 1
    // A query about many sensors takes long even where it finds little.
    const measurements = await countMeasurements(this.readTotals({ ...range, needed: new Set() }))
    return Math.ceil(Math.min(most, measurements) / PART_WINDOWS_MAX)
  }

  /** Asks again for the sensors whose results do not fit together. */
  async *#summaries(
    range: SeriesRange,
    queryOf: (range: SeriesRange) => string,
  ): AsyncIterable<readonly WindowSummary[]> {
    let asked = range
    for (let attempt = 0; attempt < ATTEMPTS_MAX && !isEmpty(asked); attempt++) {
      const tables = new WindowTables(aggregatesOf(asked))
      for await (const piece of this.#query(queryOf(asked)))
        piece.forEach((rows) => tables.add(rows))
      const again: number[] = []
      let chunk: WindowSummary[] = []
      for (const window of fitting(tables, (sensorId) => again.push(sensorId))) {
        if (chunk.push(window) < CHUNK_WINDOWS) continue
        yield chunk
        await setImmediate()
        chunk = []
      }
      if (chunk.length > 0) yield chunk
      asked = { ...range, sensorIds: again }
    }
    if (isEmpty(asked)) return
    throw unavailable('measurements are written faster than they can be summarised')
  }

  async *#points(query: string): AsyncGenerator<readonly StoredPoint[]> {
    for await (const piece of this.#query(query)) yield piece.flatMap(pointsOf)
  }

  async *#query(query: string): AsyncGenerator<readonly FluxRows[]> {
    await this.refuseIfSilent()
    try {
      yield* queryRows(this.#connection, query)
    } catch (error) {
      if (error instanceof InfluxUnreachable && error.isSilence) this.#silence.noteSilence()
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

function* fitting(
  tables: WindowTables,
  onUnfit: (sensorId: number) => void,
): Iterable<WindowSummary> {
  for (const [sensorId, windows] of tables.join()) {
    if (windows === undefined) onUnfit(sensorId)
    else yield* windows
  }
}

function isEmpty({ sensorIds, startMs, stopMs }: SeriesRange): boolean {
  return sensorIds.length === 0 || startMs >= stopMs
}

function pointsOf({ sensorId, timesMs, values }: FluxRows): StoredPoint[] {
  return timesMs.map((measuredAtMs, at) => {
    return { sensorId, measuredAtMs, rawCelsius: values[at] as number }
  })
}
