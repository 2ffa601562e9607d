// The write-ahead batch step: committing submissions together, decided against the ledger.

import type { SubmissionRefusal } from '../domain/acceptance.ts'
import type { Receipt, Submission } from '../domain/measurement.ts'

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

/** What became of a submission. */
export type SubmissionOutcome = Receipt | RefusedSubmission

/** The write-ahead batch step: decides submissions against the ledger and makes them durable. */
export interface SubmissionCommitter {
  beginGroup(): SubmissionGroup

  /**
   * Commits a group, each submission whole or not at all, in one transaction.
   *
   * Resolves after fsync: from here the senders may forget the data. Event ids that the ledger
   * knows come back as duplicate or conflict and are not stored again.
   *
   * @returns the outcome of each submission, in order
   * @throws ServiceError `storage_full` when the disk is: nothing of the group is stored
   * @throws ServiceError `outcome_unknown` when nobody can tell in time whether the group is stored
   */
  commit(group: SubmissionGroup): Promise<readonly SubmissionOutcome[]>
}
