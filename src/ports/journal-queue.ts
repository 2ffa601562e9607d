// What is accepted on its way to the measurement store: taking it from the journal, how far that
// is, and who waits for it.

import type { DataVersion, Sensor } from '../domain/sensor.ts'
import type { TimeRange } from '../domain/time.ts'
import type { RejectedMeasurement, StoreBatch } from './measurement-store.ts'

/**
 * Where rows lie: in which of the journal's streams, and the last of them. Rows of one stream are
 * in order, those of two have none. Only who gave it reads it.
 */
export interface JournalPlace {
  readonly stream: number
  readonly seq: number
}

/** Journal rows on their way to the measurement store. */
export interface JournalBatch extends StoreBatch {
  readonly place: JournalPlace
}

/** Rows that are this process's to forward. */
export interface ClaimedBatch extends JournalBatch {
  /** More rows had come since the claim before than these. */
  readonly isOutrun: boolean
}

/** What came of a batch that the store took. */
export interface Written {
  readonly rejected: readonly RejectedMeasurement[]
  readonly durationMs: number
}

/**
 * The forwarder's side of the journal. A row is in one claim at a time and leaves by `settle`. What
 * its database lacks for a while an adapter waits for; a call that rejects ends the process.
 */
export interface JournalQueue {
  /**
   * Takes the next rows in hand: at least one and, unless that alone has more, at most
   * `measurementsMax` measurements. Good until the next but one is claimed.
   *
   * @returns `undefined` when there are none
   */
  claim(measurementsMax: number): Promise<ClaimedBatch | undefined>

  /** Every row up to the batch's last can be read from the store, and none was rejected. */
  noteReadable(batch: JournalBatch): Promise<void>

  /**
   * Every row up to the batch's last is durable in the store, but for the rejected, which are kept
   * apart before the rows may go. A crash may undo it: then the rows are claimed again.
   */
  settle(batch: JournalBatch, written: Written): Promise<void>

  /** Gives back what is claimed and not settled: it is claimed anew, here or elsewhere. */
  release(): Promise<void>

  /**
   * Begins to read again what the journal still has of all that was claimed until now.
   *
   * @returns `undefined` when nothing ever was
   */
  replay(): Promise<JournalReplay | undefined>

  /** When the oldest row that is not settled was committed. */
  oldestAtMs(): Promise<number | undefined>

  /** Resolves when there are rows to claim, at once when `signal` is aborted. */
  waitForRows(signal: AbortSignal): Promise<void>
}

export interface JournalReplay {
  /**
   * The next rows, without what belongs to sensors that are deleted by now. The same rows until
   * they are passed. Good until the next call.
   *
   * @returns `undefined` at the end
   */
  read(measurementsMax: number): Promise<JournalBatch | undefined>
  pass(batch: JournalBatch): void
}

/** Who reads the measurement store waits here for what was acknowledged and is on its way there. */
export interface ReadBarrier {
  /** Waits up to `waitMsMax` until all of a version can be read. @returns whether it can */
  waitUntilReadable(version: DataVersion, waitMsMax: number): Promise<boolean>

  /**
   * Whether acknowledged measurements of the sensor in the range are not readable in the store:
   * still on their way, or set aside because the store refused them.
   *
   * @param sensor as the control data show it: its `dataVersion` says what has been acknowledged
   */
  hasUnreadable(sensor: Pick<Sensor, 'id' | 'dataVersion'>, range: TimeRange): Promise<boolean>
}

/** The journal from beside the process that forwards it, for commands. */
export interface JournalWatch extends Pick<ReadBarrier, 'waitUntilReadable'> {
  /** All that was acknowledged until now. */
  head(): Promise<DataVersion>
  /** What the store has of it; another one whenever it has taken more. */
  forwarded(): Promise<DataVersion>
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
  readonly oldestAgeMs: number
}
