// Submits measurements of line protocol in order, 500 per transaction. A failure in between only
// costs a repeat, for those with an event id: when they are sent again, they are recognised.

import { submissionMeasurementsMax } from '../domain/limits.ts'
import { submitValid } from './submit-valid.ts'
import type { DivisibleSubmission, NoteFaults } from './submit-valid.ts'
import type { Submissions } from './submissions.ts'

export interface LineReceipt {
  readonly created: number
  readonly duplicates: number
  /** Points already known, which map to something else now. */
  readonly conflicts: number
}

/**
 * Submits what can be stored.
 *
 * @param noteFaults awaited before anything else of the same transaction is stored
 * @throws ServiceError as `Submissions.submit`: the measurements of earlier transactions are stored
 *   then, and none of the one that failed, unless it is `outcome_unknown`
 */
export async function submitLines(
  submissions: Pick<Submissions, 'submit'>,
  { userId, receivedAtMs, measurements: all }: DivisibleSubmission,
  noteFaults: NoteFaults,
): Promise<LineReceipt> {
  let created = 0
  let duplicates = 0
  let conflicts = 0
  for (let from = 0; from < all.length; from += submissionMeasurementsMax) {
    const measurements = all.slice(from, from + submissionMeasurementsMax)
    const part = { userId, receivedAtMs, measurements }
    const { receipt } = await submitValid(submissions, part, (faults) =>
      noteFaults(faults.map((fault) => ({ ...fault, index: from + (fault.index ?? 0) }))),
    )
    created += receipt?.counts.created ?? 0
    duplicates += receipt?.counts.duplicate ?? 0
    conflicts += receipt?.counts.conflict ?? 0
  }
  return { created, duplicates, conflicts }
}
