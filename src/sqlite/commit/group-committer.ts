// SubmissionCommitter on SQLite: groups go to the commit thread as columns of numbers, and come
// back as receipts over the same columns. The buffers of groups are used again.

import type {
  CommittedSubmissions,
  SubmissionCommitter,
  SubmissionGroup,
} from '../../ports/submissions.ts'
import type { CommitChannel } from './commit-channel.ts'
import { allocateGroup, GroupBuilder } from './group-frame.ts'
import { outcomesOf } from './group-receipts.ts'

export class SqliteSubmissionCommitter implements SubmissionCommitter {
  readonly #channel: CommitChannel
  readonly #spareBuffers: SharedArrayBuffer[] = []

  constructor(channel: CommitChannel) {
    this.#channel = channel
  }

  beginGroup(): GroupBuilder {
    return new GroupBuilder(this.#spareBuffers.pop() ?? allocateGroup())
  }

  async commit(group: SubmissionGroup): Promise<CommittedSubmissions> {
    if (!(group instanceof GroupBuilder)) throw new Error('BUG: a group of another journal')
    const frame = group.finish()
    const result = await this.#channel.commitGroup(frame)
    const outcomes = outcomesOf(frame, result)
    this.#spareBuffers.push(result.buffer)
    return { hasJournalled: result.seq > 0, outcomes }
  }
}
