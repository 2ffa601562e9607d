// Committing submissions in groups, each measurement decided against the ledger.

import type { SubmissionRejection } from '../domain/acceptance.ts'
import type { Receipt, Submission } from '../domain/measurement.ts'

/** Submissions to be committed together, in the order in which they were added. */
export interface SubmissionGroup {
  readonly submissions: number
  readonly measurements: number
  hasRoomFor(measurements: number): boolean
  /**
   * @param isOnlyChecked nothing of it is to be stored: it is rejected whatever the outcome
   * @throws Error if it is not a valid submission: the group stays as it was
   */
  add(submission: Submission, isOnlyChecked: boolean): void
}

/** Why nothing of a submission is stored; `cause` is our own error, for the log. */
export interface RejectedSubmission extends Partial<Omit<SubmissionRejection, 'code'>> {
  readonly code: SubmissionRejection['code']
  readonly cause?: Error
}

/** The outcome of a submission. */
export type SubmissionOutcome = Receipt | RejectedSubmission

/** Decides submissions against the ledger and makes them durable. */
export interface SubmissionCommitter {
  beginGroup(): SubmissionGroup

  /**
   * Commits a group, each submission whole or not at all, in one transaction.
   *
   * Resolves after fsync: from then on senders may forget the data. Event ids that the ledger knows
   * come back as duplicate or conflict and are not stored again.
   *
   * @returns the outcome of each submission, in order
   * @throws ServiceError `storage_full` if the disk is full: nothing of the group is stored
   * @throws ServiceError `outcome_unknown` if it cannot be known in time whether the group is
   *   stored
   */
  commit(group: SubmissionGroup): Promise<readonly SubmissionOutcome[]>
}
