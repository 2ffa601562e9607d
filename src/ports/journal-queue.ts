// What is accepted on its way to the measurement store: how far it is, and who waits for it.

import type { DataVersion, Sensor } from '../domain/sensor.ts'
import type { DurationMs, TimeRange } from '../domain/time.ts'
import type { StoreBatch } from './measurement-store.ts'
import type { RefusedMeasurement } from './store-upkeep.ts'

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
  /** Waits up to `waitMsMax` until all of a version can be read. @returns whether it can */
  waitUntilReadable(version: DataVersion, waitMsMax: DurationMs): Promise<boolean>

  /**
   * Whether acknowledged measurements of the sensor in the range are not readable in the store:
   * still on their way, or set aside because the store refused them.
   *
   * @param sensor as the control data show it: its `dataVersion` says what has been acknowledged
   */
  hasUnreadable(sensor: Pick<Sensor, 'id' | 'dataVersion'>, range: TimeRange): Promise<boolean>
}

/**
 * How far the measurement store is behind. Read at any time and without waiting: the adapter keeps
 * the figures up to date, none of them older than a second.
 */
export interface QueueFigures {
  backlog(): Backlog
  /** Bytes of journal that the store has not taken for good. */
  readonly backlogBytes: number
  /** Measurements that cannot be read yet. */
  readonly unreadable: number
  /** Whether somebody waits for the store. */
  readonly isAwaited: boolean
  /** @param listener told whenever more can be read */
  onReadable(listener: () => void): void
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
