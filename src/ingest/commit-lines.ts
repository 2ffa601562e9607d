// Commits the measurements of a body of line protocol: 500 per transaction, in order, and those
// without an event id last, in a single transaction. A failure in between only costs a repeat: when
// the body is sent again, events with an id are recognised, and nothing of the others is stored.

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
  /** Points already known: even if they map to something else now, they are the same points. */
  readonly duplicates: number
  /** Why some cannot be stored; `index` counts through keyed and unkeyed. */
  readonly faults: readonly RequestFault[]
}

/**
 * @throws ServiceError as `Submissions.commit`: some keyed measurements may be stored then, but no
 *   unkeyed ones, unless it is `outcome_unknown`
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
