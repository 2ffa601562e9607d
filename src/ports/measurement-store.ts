// The long-term home of measurements, whichever store it is.

import type { Selector, SeriesRange, StoredPoint, WindowSummary } from '../domain/history.ts'
import type { MeasurementColumns } from '../domain/measurement-columns.ts'
import type { TimeRange } from '../domain/time.ts'

/** What a measurement store receives in one call, in journal order. */
export interface StoreBatch {
  readonly measurements: MeasurementColumns
  /** The sensors' names and compensations from `atMs` on. */
  readonly sensorInfos: readonly SensorInfo[]
}

/** A registration or change of a sensor, for programs that read the store directly. */
export interface SensorInfo {
  readonly userId: number
  readonly sensorId: number
  /** Later than the previous one. */
  readonly atMs: number
  readonly serialNumber: string
  readonly alias: string
  readonly compensationCelsius: number
}

/** A measurement that the store will never take, to be set aside. */
export interface ToSetAside {
  /** Its index in the batch. */
  readonly index: number
  /** The store's reason. */
  readonly reason: string
}

/** The writing side of the long-term home of measurements. */
export interface MeasurementWriter {
  /**
   * Writes a batch; one at a time. Resolves when everything but the returned measurements can be
   * read; the next `sync` makes it durable. Writing the same measurement again, in any batch,
   * changes nothing: sensor, millisecond and tie-break identify it.
   *
   * @returns what the store will never take
   * @throws StoreUnavailable if nothing can be written now, or it is unknown whether all was: the
   *   caller writes the same batch again later
   */
  write(batch: StoreBatch): Promise<readonly ToSetAside[]>

  /** Makes everything written so far durable. If it throws, nobody knows what is durable. */
  sync(): Promise<void>

  /**
   * Deletes all measurements of a sensor in a time range, and its infos. Resolves when they are
   * certainly gone. May be repeated, and may run during a `write`.
   */
  deleteSensor(sensor: { userId: number; sensorId: number }, range: TimeRange): Promise<void>

  /**
   * Only of a store that is another process: identifies its life. It differs after a restart, when
   * the store may have lost what it acknowledged shortly before. `undefined` if it cannot be
   * determined now.
   */
  life?(): Promise<string | undefined>

  close(): Promise<void>
}

/**
 * The reading side. A question is about any number of sensors; it is answered in chunks, in bounded
 * memory. What is read of each sensor is ascending, sensors follow one another or take turns.
 *
 * All throw ServiceError `history_unavailable` if the store is out of reach.
 */
export interface MeasurementReader {
  /**
   * For who waits before asking: throws what a question would if one was met with silence and the
   * store is not known to answer again. Takes a second at most.
   */
  refuseIfSilent?(): Promise<void>

  /** Every measurement of the range, by time and then by tie-break. */
  readRaw(range: SeriesRange): AsyncIterable<readonly StoredPoint[]>

  /** One measurement of each sensor that has any in the range. */
  readOne(range: SeriesRange, selector: Selector): AsyncIterable<readonly StoredPoint[]>

  /**
   * One summary for each window of `windowMs` on the UTC epoch grid that has measurements.
   *
   * @param range its ends are on the grid
   * @param windowMs one minute, 5 or 15 minutes, one hour or one day
   */
  readWindows(range: SeriesRange, windowMs: number): AsyncIterable<readonly WindowSummary[]>

  /** One summary for each sensor of all its measurements in the range, which starts with it. */
  readTotals(range: SeriesRange): AsyncIterable<readonly WindowSummary[]>

  close(): Promise<void>
}
