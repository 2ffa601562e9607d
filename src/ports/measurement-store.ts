// The long-term home of measurements, whatever it is made of.

import type { RawPoint, SeriesRange, WindowSummary } from '../domain/history.ts'
import type { TimeRange } from '../domain/time.ts'

/** What a measurement store is given at once, in journal order. */
export interface StoreBatch {
  readonly measurements: MeasurementColumns
  /** What sensors are called and how they are compensated, from `atMs` on. */
  readonly sensorInfos: readonly SensorInfo[]
}

/** A registration or a change of a sensor, for those who read the store directly. */
export interface SensorInfo {
  readonly userId: number
  readonly sensorId: number
  /** Later than the one before it. */
  readonly atMs: number
  readonly serialNumber: string
  readonly alias: string
  readonly compensationCelsius: number
}

/** Measurements as columns; index i of each belongs to one measurement. In acceptance order. */
export interface MeasurementColumns {
  readonly count: number
  readonly userId: Uint32Array
  readonly sensorId: Uint32Array
  readonly measuredAtMs: Float64Array
  /** 0 … 999,999: keeps measurements of one sensor at one millisecond apart; never given twice. */
  readonly tieBreakNs: Uint32Array
  readonly tempCelsius: Float64Array
}

/** A measurement that the store will never take. */
export interface RejectedMeasurement {
  /** Its place in the batch. */
  readonly index: number
  /** What the store said. */
  readonly reason: string
}

/** The writing side of the long-term home of measurements. */
export interface MeasurementWriter {
  /**
   * Writes a batch; one at a time. Resolves when it can be read but for what it returns; the next
   * `sync` makes it durable. Writing the same measurement again, in any batch, changes nothing:
   * sensor, millisecond and tie-break identify it.
   *
   * @returns what the store refuses for good
   * @throws StoreUnavailable when it is not known whether all was written, or nothing can be
   *   written now: the caller writes the same batch again later
   */
  write(batch: StoreBatch): Promise<readonly RejectedMeasurement[]>

  /** Makes durable what was written before. Once it has thrown, nobody knows what is. */
  sync(): Promise<void>

  /**
   * Deletes all measurements of a sensor whose times lie in the range, and its infos. Resolves when
   * they are certainly gone. May be repeated, and may run beside `write`.
   */
  deleteSensor(sensor: { userId: number; sensorId: number }, range: TimeRange): Promise<void>

  /**
   * A text that is another one after the store's process has started anew, when it may have lost
   * what it had acknowledged shortly before. `undefined` when that cannot be known now.
   */
  life(): Promise<string | undefined>

  close(): Promise<void>
}

/** The reading side. A series is read in ascending order, in chunks, in bounded memory. */
export interface MeasurementReader {
  /** Every measurement of the range, by time and then by tie-break. */
  readRaw(range: SeriesRange): AsyncIterable<readonly RawPoint[]>

  /**
   * One summary for each window of `windowMs` on the UTC epoch grid that has measurements.
   *
   * @param range its ends lie on the grid
   * @param windowMs one minute, 5 or 15 minutes, one hour or one day
   * @throws ServiceError `history_unavailable` when the store is out of reach
   */
  readWindows(range: SeriesRange, windowMs: number): AsyncIterable<readonly WindowSummary[]>

  close(): Promise<void>
}
