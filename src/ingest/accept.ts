// The door of the write path: whether a submission is taken at all, and handing it to the journal.
// What comes back is the promise that it is on disk.

import type { RequestFault } from '../domain/errors.ts'
import { buildDateMs } from '../domain/limits.ts'
import type { Receipt, Submission } from '../domain/measurement.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { EpochMs } from '../domain/time.ts'
import type { Clock, Journal } from '../ports.ts'

/** Takes submissions into the journal. */
export class Acceptor {
  readonly #journal: Journal
  readonly #clock: Clock

  constructor(journal: Journal, clock: Clock) {
    this.#journal = journal
    this.#clock = clock
  }

  /** Why a submission would be refused now, asked before its body is read; else `undefined`. */
  refusal(): Refusal | undefined {
    return isClockSet(this.#clock.nowMs()) ? this.#journal.refusal() : 'clock_unset'
  }

  /**
   * Commits a submission. Resolves when it is on disk.
   *
   * @throws ServiceError as `Journal.commit` does
   */
  accept(submission: Submission): Promise<Receipt> {
    return this.#journal.commit(submission)
  }

  /** What would make the journal refuse a submission as invalid. Nothing is stored. */
  check(submission: Submission): Promise<readonly RequestFault[]> {
    return this.#journal.check(submission)
  }
}

/** A clock before the day this version was made would give measurements a wrong time. */
function isClockSet(nowMs: EpochMs): boolean {
  return nowMs >= buildDateMs
}
