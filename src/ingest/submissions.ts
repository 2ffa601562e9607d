// The write path: whether a submission is taken at all, and committing it with others. Submissions
// that arrive while a commit is under way become the next group; one that finds nothing under way
// is committed at once, alone. Groups are filled from users in turn, none of whom gets more than a
// share of one: what another user sends waits for the groups on their way and for one share, not
// for all that waits. The queue is bounded in submissions and in measurements, for each user too.

import type { DamageList } from '../domain/damage-list.ts'
import type { Refusal, RequestFault } from '../domain/errors.ts'
import { ServiceError, refusalError } from '../domain/errors.ts'
import {
  buildDateMs,
  groupShareMax,
  measurementsInFlightMax,
  submissionsInFlightMax,
  userInFlightMax,
} from '../domain/limits.ts'
import type { Receipt, Submission } from '../domain/measurement.ts'
import type {
  RefusedSubmission,
  SubmissionOutcome,
  SubmissionCommitter,
  SubmissionGroup,
} from '../ports/submissions.ts'
import type { QueueFigures } from '../ports/journal-queue.ts'
import type { Clock, Metrics, StorageState } from '../ports/system.ts'
import { StorePace } from './store-pace.ts'
import { UserShares, UserTurns } from './users-in-turn.ts'

/** A submission that waits for its receipt. */
interface Waiting {
  readonly submission: Submission
  readonly isOnlyChecked: boolean
  readonly resolve: (receipt: Receipt) => void
  readonly reject: (reason: unknown) => void
}

interface WaitingGroup {
  readonly group: SubmissionGroup
  readonly waiting: Waiting[]
  readonly shares: UserShares
}

interface Collaborators {
  readonly committer: SubmissionCommitter
  readonly progress: QueueFigures
  readonly clock: Clock
  readonly metrics: Metrics
  readonly storage: StorageState
  readonly damaged: DamageList
}

/**
 * Groups on their way: one is looked up or committed, and one ready, so that nobody waits for it;
 * one more lets the processors go on while the disk is waited for. Beside a store that is apart
 * they have enough to do.
 */
const GROUPS_IN_FLIGHT_MAX = { storeInside: 3, storeApart: 2 }

/**
 * A further group is sent ahead of time only when it is worth a commit of its own: for this many
 * measurements or, since each answer lets its sender go on, submissions.
 */
const GROUP_AHEAD = { measurementsMin: 2_000, submissionsMin: 16 }

export class Submissions {
  readonly #with: Collaborators
  readonly #journalBytesMax: number
  readonly #groupsInFlightMax: number
  /** The group that is sent next; what it has no room for waits for its turn. */
  #next: WaitingGroup | undefined
  readonly #turns = new UserTurns<Waiting>()
  readonly #inFlightOf = new UserShares(userInFlightMax)
  readonly #pace: StorePace | undefined
  #submissionsInFlight = 0
  #measurementsInFlight = 0
  #groupsInFlight = 0
  #isClosed = false

  /**
   * @param settings.journalBytesMax beyond it submissions are refused until the store has caught up
   */
  constructor(
    collaborators: Collaborators,
    settings: { readonly journalBytesMax: number; readonly isStoreApart: boolean },
  ) {
    this.#with = collaborators
    this.#journalBytesMax = settings.journalBytesMax
    const { storeApart, storeInside } = GROUPS_IN_FLIGHT_MAX
    this.#groupsInFlightMax = settings.isStoreApart ? storeApart : storeInside
    if (settings.isStoreApart) return
    const pace = new StorePace(collaborators.clock, () => this.#sendGroups())
    collaborators.progress.onReadable(() => pace.noteReadable())
    this.#pace = pace
  }

  /** What is stored and damaged, as far as anything needed it: the first of it. */
  get damaged(): readonly string[] {
    return this.#with.damaged.problems
  }

  /**
   * Why a submission would be refused now, asked before its body is read; else `undefined`.
   *
   * @param userId `undefined`: of nobody in particular
   */
  refusal(userId?: number): Refusal | undefined {
    if (this.#isClosed) return 'shutting_down'
    // A clock before the day this version was made would give measurements a wrong time.
    if (this.#with.clock.nowMs() < buildDateMs) return 'clock_unset'
    if (this.#with.storage.isLow) return 'storage_full'
    const isShareTaken = userId !== undefined && !this.#inFlightOf.hasRoomFor(userId, 1)
    const isQueueFull =
      isShareTaken ||
      this.#submissionsInFlight >= submissionsInFlightMax ||
      this.#measurementsInFlight >= measurementsInFlightMax
    const isJournalFull = this.#with.progress.backlogBytes >= this.#journalBytesMax
    return isQueueFull || isJournalFull ? 'overloaded' : undefined
  }

  /**
   * A refusal as the failure that a client is told of, with what the disk lacks.
   *
   * @param members more of the problem document
   */
  refused(refusal: Refusal, members: Readonly<Record<string, unknown>> = {}): ServiceError {
    const lacking = refusal === 'storage_full' ? this.#with.storage.describe() : {}
    return refusalError(refusal, { ...lacking, members })
  }

  /**
   * Commits a submission, whole or not at all. Resolves when it is on disk.
   *
   * @throws ServiceError `validation_failed` (times out of bounds, too many at one time),
   *   `unknown_sensor`, `sensor_quota`: nothing of the submission is stored
   * @throws ServiceError of `refusal`: nothing is stored
   * @throws ServiceError `outcome_unknown`: all of it is stored or nothing
   */
  commit(submission: Submission): Promise<Receipt> {
    return this.#submit(submission, false)
  }

  /** What would make `commit` refuse a submission as `validation_failed`. Nothing is stored. */
  async check(submission: Submission): Promise<readonly RequestFault[]> {
    try {
      await this.#submit(submission, true)
    } catch (error) {
      if (error instanceof ServiceError && error.faults !== undefined) return error.faults
      throw error
    }
    throw new Error('BUG: a submission that was only to be checked was accepted')
  }

  /** Takes no more submissions; those that were taken are still answered. */
  close(): void {
    this.#isClosed = true
  }

  #submit(submission: Submission, isOnlyChecked: boolean): Promise<Receipt> {
    const { userId } = submission
    const refusal = this.refusal(userId)
    if (refusal !== undefined) return Promise.reject(this.refused(refusal))
    const { promise, resolve, reject } = Promise.withResolvers<Receipt>()
    const waiting = { submission, isOnlyChecked, resolve, reject }
    this.#count(waiting, 1)
    if (this.#turns.has(userId) || !this.#take(waiting)) this.#turns.add(userId, waiting)
    this.#sendGroups()
    return promise
  }

  /** Puts a submission into the next group. @returns whether there was room for it */
  #take(waiting: Waiting): boolean {
    const { submission, isOnlyChecked, reject } = waiting
    const { userId, measurements } = submission
    this.#next ??= {
      group: this.#with.committer.beginGroup(),
      waiting: [],
      shares: new UserShares(groupShareMax),
    }
    const { group, shares } = this.#next
    const { length } = measurements
    if (!group.hasRoomFor(length) || !shares.hasRoomFor(userId, length)) return false
    try {
      group.add(submission, isOnlyChecked)
      shares.add(userId, length)
      this.#next.waiting.push(waiting)
    } catch (error) {
      this.#count(waiting, -1)
      reject(error)
    }
    return true
  }

  #count({ submission }: Waiting, sign: 1 | -1): void {
    const { userId, measurements } = submission
    this.#submissionsInFlight += sign
    this.#measurementsInFlight += sign * measurements.length
    if (sign === 1) this.#inFlightOf.add(userId, measurements.length)
    else this.#inFlightOf.remove(userId, measurements.length)
  }

  #sendGroups(): void {
    for (let next = this.#next; next !== undefined; next = this.#next) {
      const { group } = next
      const isWorthwhile =
        group.measurements >= GROUP_AHEAD.measurementsMin ||
        group.submissions >= GROUP_AHEAD.submissionsMin
      const mayBeSent = this.#groupsInFlight < (isWorthwhile ? this.#groupsInFlightMax : 1)
      if (group.submissions === 0 || !mayBeSent || this.#mustWaitForStore()) return
      this.#next = undefined
      void this.#commitGroup(next)
      this.#turns.offer((waiting) => this.#take(waiting))
    }
  }

  /** Whether readers have to get on first. */
  #mustWaitForStore(): boolean {
    const { progress } = this.#with
    return progress.isAwaited && this.#pace?.mustWait(progress.unreadable) === true
  }

  async #commitGroup({ group, waiting }: WaitingGroup): Promise<void> {
    const { committer, clock } = this.#with
    this.#groupsInFlight++
    const startedAtMs = clock.monotonicMs()
    try {
      const outcomes = await committer.commit(group)
      this.#answer(waiting, outcomes, clock.monotonicMs() - startedAtMs)
    } catch (error) {
      for (const { reject } of waiting) reject(error)
    }
    this.#groupsInFlight--
    for (const each of waiting) this.#count(each, -1)
    this.#sendGroups()
  }

  #failureOf(refused: RefusedSubmission): ServiceError {
    if (refused.code !== 'data_damaged') return new ServiceError(refused.code, refused)
    if (refused.cause !== undefined) this.#with.damaged.note(refused.cause.message)
    return refusalError(refused.code, { cause: refused.cause })
  }

  #answer(
    waiting: readonly Waiting[],
    outcomes: readonly SubmissionOutcome[],
    durationMs: number,
  ): void {
    const decided = { created: 0, duplicate: 0, conflict: 0 }
    waiting.forEach(({ resolve, reject }, at) => {
      const outcome = outcomes[at]
      if (outcome === undefined) throw new Error('BUG: a submission without an outcome')
      if ('code' in outcome) return reject(this.#failureOf(outcome))
      decided.created += outcome.counts.created
      decided.duplicate += outcome.counts.duplicate
      decided.conflict += outcome.counts.conflict
      resolve(outcome)
    })
    this.#with.metrics.noteGroup({ ...decided, durationMs })
  }
}
