// What is accepted on its way to the measurement store: how far it is, and who waits for it.

import type { Sensor, SensorId } from '../domain/sensor.ts'
import type { DurationMs, EpochMs, TimeRange } from '../domain/time.ts'
import type { StoreBatch } from './measurement-store.ts'
import type { RefusedMeasurement } from './store-upkeep.ts'

/** How far the journal is, and what of it is not in the measurement store. */
export interface JournalState {
  /** Rows up to this one were in the measurement store when it was last written down. */
  forwardedSeq(): number
  /** Measurements in the rows after `seq`. */
  totalsAfter(seq: number): { readonly entries: number }
  /** When the first row after `seq` was committed. */
  oldestAfter(seq: number): EpochMs | undefined
  /** Whether rows (afterSeq, throughSeq] have measurements of the sensor in the range. */
  hasMeasurements(
    rows: { readonly afterSeq: number; readonly throughSeq: number },
    sensorId: SensorId,
    range: TimeRange,
  ): Promise<boolean>
}

/** What of the journal can be read from the measurement store. */
export interface ReadableRows {
  readonly throughSeq: number
  readonly measurements: number
}

/** What of the journal is in the measurement store for good. */
export interface ForwardedRows extends ReadableRows {
  /** What the store will never take. */
  readonly refused: readonly RefusedMeasurement[]
  /** How long the store took for it. */
  readonly durationMs: DurationMs
}

/** Who reads the measurement store waits here for what was acknowledged and is on its way there. */
export interface ReadBarrier {
  /** Waits up to `waitMsMax` until every row up to `seq` can be read. @returns whether it can */
  waitUntilReadable(seq: number, waitMsMax: DurationMs): Promise<boolean>

  /**
   * Whether acknowledged measurements of the sensor in the range are not readable in the store:
   * still on their way, or set aside because the store refused them.
   *
   * @param sensor as the control data show it: its `dataSeq` says what has been acknowledged
   */
  hasUnreadable(sensor: Pick<Sensor, 'id' | 'dataSeq'>, range: TimeRange): Promise<boolean>
}

export interface Backlog {
  readonly entries: number
  readonly bytes: number
  readonly oldestAgeMs: DurationMs
}

/** Journal rows on their way to the measurement store. */
export interface JournalBatch extends StoreBatch {
  /** The last of the rows. */
  readonly throughSeq: number
}
