// Accepted measurements on their way to the measurement store: claiming them from the journal, how
// far forwarding has come, and waiting for it.

import type { DataVersion, Sensor } from '../domain/sensor.ts'
import type { TimeRange } from '../domain/time.ts'
import type { ToSetAside, StoreBatch } from './measurement-store.ts'

/**
 * A place in the journal: a stream, and its last row so far. Rows of one stream are ordered, rows
 * of different streams are not. Opaque to all but its adapter.
 */
export interface JournalPlace {
  readonly stream: number
  readonly seq: number
}

/** Journal rows on their way to the measurement store. */
export interface JournalBatch extends StoreBatch {
  readonly place: JournalPlace
}

/** Rows claimed by this process for forwarding. */
export interface ClaimedBatch extends JournalBatch {
  /** More rows than these had arrived before the claim. Only where the store may be apart. */
  readonly isOutrun?: boolean
}

/** The outcome of a batch that the store accepted. */
export interface Written {
  readonly setAside: readonly ToSetAside[]
  readonly durationMs: number
}

/**
 * The forwarder's side of the journal. A row is in one claim at a time and leaves through `settle`.
 * An adapter waits out temporary failures of its database; a call that rejects ends the process.
 * What may be missing is there where the store may be apart: another process.
 */
export interface JournalQueue {
  /**
   * Claims the next rows: at least one and, unless that one alone has more, at most
   * `measurementsMax` measurements. Valid until the next claim but one.
   *
   * @returns `undefined` if there are none
   */
  claim(measurementsMax: number): Promise<ClaimedBatch | undefined>

  /** Every row up to the batch's last can be read from the store, and nothing was set aside. */
  noteReadable(batch: JournalBatch): Promise<void>

  /**
   * Every row up to the batch's last is durable in the store, except for what it would not take:
   * that is set aside, durably, before the rows may go. A crash may undo this: then the rows are
   * claimed again.
   */
  settle(batch: JournalBatch, written: Written): Promise<void>

  /** Releases rows that are claimed and not settled: they are claimed again, here or elsewhere. */
  release(): Promise<void>

  /**
   * What is to be written again, because the store may have lost it: what the journal still has of
   * everything forwarded, once for each life of the store.
   *
   * @param life that the store has now; `undefined`: it does not tell
   * @returns `undefined` if there is nothing more than what was returned before
   */
  replay?(life: string | undefined): Promise<JournalReplay | undefined>

  /** When the oldest unsettled row was committed. */
  oldestAtMs?(): Promise<number | undefined>

  /** Resolves when there are rows to claim, or immediately when `signal` is aborted. */
  waitForRows(signal: AbortSignal): Promise<void>
}

export interface JournalReplay {
  /**
   * The next rows, without measurements of sensors deleted by now. Returns the same rows until they
   * are passed. Valid until the next call.
   *
   * @returns `undefined` at the end
   */
  read(measurementsMax: number): Promise<JournalBatch | undefined>
  pass(batch: JournalBatch): Promise<void>
}

/** Lets readers of the measurement store wait for what is acknowledged and still on its way. */
export interface ReadBarrier {
  /** Waits up to `waitMsMax` until all of the versions can be read. @returns whether it can */
  waitUntilReadable(versions: readonly DataVersion[], waitMsMax: number): Promise<boolean>

  /**
   * Those of the sensors that have acknowledged measurements in the range which are not readable in
   * the store: still on their way, or set aside. Each once, as they are found.
   *
   * @param sensors as the control data show them: `dataVersion` says what has been acknowledged
   */
  findUnreadable(sensors: readonly VersionedSensor[], range: TimeRange): AsyncIterable<number>

  /** The same at any time, without a search: also a sensor of which anything else is on its way. */
  listUnreadable(sensors: readonly VersionedSensor[]): Promise<ReadonlySet<number>>
}

export type VersionedSensor = Pick<Sensor, 'id' | 'dataVersion'>

/** The journal for commands that run in another process than its forwarder. */
export interface JournalWatch extends Pick<ReadBarrier, 'waitUntilReadable'> {
  /** Everything acknowledged until now. */
  head(): Promise<DataVersion>
  /** How much of it the store has; differs whenever the store has accepted more. */
  forwarded(): Promise<DataVersion>
}

/**
 * How far the measurement store is behind. Reading it never waits: the adapter keeps the figures up
 * to date, none older than a second.
 */
export interface QueueFigures {
  backlog(): Backlog
  /** Bytes of journal that the store does not durably have. */
  readonly backlogBytes: number
  /** Measurements that cannot be read yet. */
  readonly unreadable: number
  /** Whether a reader waits for the store. */
  readonly isAwaited: boolean
  /** @param listener called whenever more can be read */
  onReadable(listener: () => void): void
}

export interface Backlog {
  readonly entries: number
  readonly bytes: number
  readonly oldestAgeMs: number
}
