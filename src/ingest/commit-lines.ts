// Committing what a body of line protocol holds: 500 measurements a transaction, in order, and what
// has no event id last, in one transaction. A failure in between only costs a repeat: what has an
// event id is known when it is sent again, and of the rest nothing is stored yet.

import type { RequestFault } from '../domain/errors.ts'
import { submissionMeasurementsMax } from '../domain/limits.ts'
import type { SubmittedMeasurement } from '../domain/measurement.ts'
import { commitValid } from './commit-valid.ts'
import type { Submissions } from './submissions.ts'

/** Measurements in the order in which they are committed. */
export interface LineSubmission {
  readonly userId: number
  readonly receivedAtMs: number
  /** With an event id. */
  readonly keyed: readonly SubmittedMeasurement[]
  /** Without one; at most `submissionMeasurementsMax`. */
  readonly unkeyed: readonly SubmittedMeasurement[]
}

export interface LineReceipt {
  readonly created: number
  /** Known before: whatever it maps to now, it is the same point. */
  readonly duplicates: number
  /** Of what cannot be stored; `index` counts through keyed and unkeyed. */
  readonly faults: readonly RequestFault[]
}

/**
 * @throws ServiceError as `Submissions.commit`: some of the keyed measurements may be stored then,
 *   and of the unkeyed ones none, unless it is `outcome_unknown`
 */
export async function commitLines(
  submissions: Pick<Submissions, 'commit'>,
  { userId, receivedAtMs, keyed, unkeyed }: LineSubmission,
): Promise<LineReceipt> {
  let created = 0
  let duplicates = 0
  const faults: RequestFault[] = []
  const commit = async (measurements: readonly SubmittedMeasurement[], offset: number) => {
    const partial = await commitValid(submissions, { userId, receivedAtMs, measurements })
    const { counts } = partial.receipt ?? {}
    created += counts?.created ?? 0
    duplicates += (counts?.duplicate ?? 0) + (counts?.conflict ?? 0)
    for (const fault of partial.faults) {
      faults.push({ ...fault, index: offset + (fault.index ?? 0) })
    }
  }
  for (let from = 0; from < keyed.length; from += submissionMeasurementsMax) {
    await commit(keyed.slice(from, from + submissionMeasurementsMax), from)
  }
  if (unkeyed.length > 0) await commit(unkeyed, keyed.length)
  return { created, duplicates, faults }
}
