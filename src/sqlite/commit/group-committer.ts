// SubmissionCommitter on SQLite: groups go to the commit thread as columns of numbers, and come
// back as receipts over the same columns. The buffers of groups are used again.

import type {
  SubmissionOutcome,
  SubmissionCommitter,
  SubmissionGroup,
} from '../../ports/submissions.ts'
import type { CommitChannel } from './commit-channel.ts'
import { allocateGroup, GroupBuilder } from './group-frame.ts'
import { outcomesOf } from './group-receipts.ts'

export class SqliteSubmissionCommitter implements SubmissionCommitter {
  readonly #channel: CommitChannel
  readonly #onJournalled: (measurements: number) => void
  readonly #spareBuffers: SharedArrayBuffer[] = []

  /** @param onJournalled told of new journal rows, with how many measurements they have */
  constructor(channel: CommitChannel, onJournalled: (measurements: number) => void) {
    this.#channel = channel
    this.#onJournalled = onJournalled
  }

  beginGroup(): GroupBuilder {
    return new GroupBuilder(this.#spareBuffers.pop() ?? allocateGroup())
  }

  async commit(group: SubmissionGroup): Promise<readonly SubmissionOutcome[]> {
    if (!(group instanceof GroupBuilder)) throw new Error('BUG: a group of another journal')
    const frame = group.finish()
    const result = await this.#channel.commitGroup(frame)
    const outcomes = outcomesOf(frame, result)
    this.#spareBuffers.push(result.buffer)
    if (result.seq > 0) this.#onJournalled(createdOf(outcomes))
    return outcomes
  }
}

function createdOf(outcomes: readonly SubmissionOutcome[]): number {
  let created = 0
  for (const outcome of outcomes) if ('counts' in outcome) created += outcome.counts.created
  return created
}
