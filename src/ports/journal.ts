// What the write path needs of a journal, whatever it is made of: committing submissions together,
// and knowing how far it is. Types only.

import type { SubmissionRefusal } from '../domain/acceptance.ts'
import type { Receipt, Submission } from '../domain/measurement.ts'
import type { SensorId, UserId } from '../domain/sensor.ts'
import type { DurationMs, EpochMs, TimeRange } from '../domain/time.ts'

/** Submissions that are to be committed together, in the order in which they were added. */
export interface SubmissionGroup {
  readonly submissions: number
  readonly measurements: number
  hasRoomFor(measurements: number): boolean
  /**
   * @param isOnlyChecked nothing of it is to be stored: it is refused whatever comes out
   * @throws Error when it is none: then the group is as before
   */
  add(submission: Submission, isOnlyChecked: boolean): void
}

/** Why nothing of a submission is stored; `cause` is an error of ours, for the log. */
export interface RefusedSubmission extends Partial<Omit<SubmissionRefusal, 'code'>> {
  readonly code: SubmissionRefusal['code']
  readonly cause?: Error
}

export interface CommittedSubmissions {
  /** Whether the journal has got something new. */
  readonly hasJournalled: boolean
  /** Of each submission, in order. */
  readonly outcomes: readonly (Receipt | RefusedSubmission)[]
}

/** The write-ahead batch step: decides submissions against the ledger and makes them durable. */
export interface SubmissionCommitter {
  beginGroup(): SubmissionGroup

  /**
   * Commits a group, each submission whole or not at all, in one transaction.
   *
   * Resolves after fsync: from here the senders may forget the data. Event ids that the ledger
   * knows come back as duplicate or conflict and are not stored again.
   *
   * @throws ServiceError `storage_full` when the disk is: nothing of the group is stored
   */
  commit(group: SubmissionGroup): Promise<CommittedSubmissions>
}

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

/** A measurement that the store refuses for good, and why. */
export interface RefusedMeasurement {
  readonly userId: UserId
  readonly sensorId: SensorId
  readonly measuredAtMs: EpochMs
  readonly tieBreakNs: number
  readonly tempCelsius: number
  readonly reason: string
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
