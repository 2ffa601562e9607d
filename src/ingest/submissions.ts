// The write path: decides whether to accept a submission, and commits it together with others.
// Submissions that arrive during a commit form the next group; one that finds nothing under way is
// committed at once, alone. Groups are filled from users in turn, each with a limited share: a user
// waits for the groups under way and for one share of every other user, not for everything they
// have queued. What waits is bounded in submissions and measurements, also per user.

import type { DamageList } from './damage-list.ts'
import type { Obstacle, RequestFault } from '../domain/errors.ts'
import { isPostponed, ServiceError, postponedError } from '../domain/errors.ts'
import {
  buildDateMs,
  groupShareMax,
  measurementsInFlightMax,
  submissionsInFlightMax,
  userInFlightMax,
} from '../domain/limits.ts'
import type { Receipt, Submission } from '../domain/measurement.ts'
import type {
  RejectedSubmission,
  SubmissionOutcome,
  SubmissionCommitter,
  SubmissionGroup,
} from '../ports/submissions.ts'
import type { QueueFigures } from '../ports/journal-queue.ts'
import type { Clock, ClockWatch, Metrics, StorageState } from '../ports/system.ts'
import { StorePace } from './store-pace.ts'
import { UserShares, UserTurns } from './users-in-turn.ts'

/** A submission waiting for its receipt. */
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
  readonly clockWatch: ClockWatch
  readonly metrics: Metrics
  readonly storage: StorageState
  readonly damaged: DamageList
}

/**
 * Groups under way: one being looked up or committed, and one ready to follow it. With an embedded
 * store a third keeps the processors busy during the fsync; with another store they have enough to
 * do.
 */
const GROUPS_IN_FLIGHT_MAX = { storeEmbedded: 3, storeElsewhere: 2 }

/**
 * A further group is sent early only if it is worth its own commit: this many measurements or,
 * because each response frees its sender to go on, submissions.
 */
const GROUP_AHEAD = { measurementsMin: 2_000, submissionsMin: 16 }

export class Submissions {
  readonly #with: Collaborators
  readonly #journalBytesMax: number
  readonly #groupsInFlightMax: number
  readonly #turns = new UserTurns<Waiting>()
  /** To be sent; submissions that do not fit wait for their turn. */
  #next: WaitingGroup | undefined
  readonly #inFlightOf = new UserShares(userInFlightMax)
  readonly #pace: StorePace | undefined
  #groupsInFlight = 0
  #submissionsInFlight = 0
  #measurementsInFlight = 0
  #isClosed = false

  /**
   * @param settings.journalBytesMax beyond it, the journal is full until the store catches up
   */
  constructor(
    collaborators: Collaborators,
    settings: { readonly journalBytesMax: number; readonly isStoreEmbedded: boolean },
  ) {
    this.#with = collaborators
    this.#journalBytesMax = settings.journalBytesMax
    const { storeEmbedded, storeElsewhere } = GROUPS_IN_FLIGHT_MAX
    this.#groupsInFlightMax = settings.isStoreEmbedded ? storeEmbedded : storeElsewhere
    if (!settings.isStoreEmbedded) return
    const pace = new StorePace(collaborators.clock, () => this.#sendGroups())
    collaborators.progress.onReadable(() => pace.noteReadable())
    this.#pace = pace
  }

  /**
   * What keeps submissions from being taken now; else `undefined`.
   *
   * @param userId `undefined`: the user is not known yet
   */
  obstacle(userId?: number): Obstacle | undefined {
    if (this.#isClosed) return 'shutting_down'
    // A clock set before this version was made would give measurements wrong times.
    if (this.#with.clock.nowMs() < buildDateMs) return 'clock_unset'
    if (this.#with.clockWatch.doubt !== undefined) return 'clock_unset'
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
   * Asked before a body is read; `submit` looks again, since reading takes time.
   *
   * @throws ServiceError while there is an obstacle
   */
  admit(userId: number): void {
    const obstacle = this.obstacle(userId)
    if (obstacle !== undefined) throw this.errorOf(obstacle)
  }

  /**
   * An obstacle as the error for the client, with the missing disk space, or what the clock says.
   *
   * @param members more members for the problem document
   */
  errorOf(obstacle: Obstacle, members: Readonly<Record<string, unknown>> = {}): ServiceError {
    return postponedError(obstacle, { ...this.#describe(obstacle), members })
  }

  /**
   * Stores a submission, whole or not at all. Resolves when it is on disk.
   *
   * @throws ServiceError `validation_failed` (times out of bounds, too many at one time),
   *   `unknown_sensor`, `sensor_quota`: nothing of the submission is stored
   * @throws ServiceError of `obstacle`: nothing is stored
   * @throws ServiceError `outcome_unknown`: either all of it is stored, or nothing
   */
  submit(submission: Submission): Promise<Receipt> {
    return this.#enqueue(submission, false)
  }

  /** Faults for which `submit` would refuse a submission as `validation_failed`. Stores nothing. */
  async check(submission: Submission): Promise<readonly RequestFault[]> {
    try {
      await this.#enqueue(submission, true)
    } catch (error) {
      if (error instanceof ServiceError && error.faults !== undefined) return error.faults
      throw error
    }
    throw new Error('BUG: a submission that was only to be checked was accepted')
  }

  #describe(obstacle: Obstacle): { readonly detail?: string; readonly hint?: string } {
    const { storage, clockWatch } = this.#with
    if (obstacle === 'storage_full') return storage.describe()
    return (obstacle === 'clock_unset' && clockWatch.doubt) || {}
  }

  /** Accepts no more submissions; those already accepted still get their receipts. */
  close(): void {
    this.#isClosed = true
  }

  #enqueue(submission: Submission, isOnlyChecked: boolean): Promise<Receipt> {
    const { userId } = submission
    // Its body may have taken long.
    const isOfNow = this.#with.clockWatch.isOfNow(submission.receivedAtMs)
    const obstacle = isOfNow ? this.obstacle(userId) : 'clock_unset'
    if (obstacle !== undefined) return Promise.reject(this.errorOf(obstacle))
    const { promise, resolve, reject } = Promise.withResolvers<Receipt>()
    const waiting = { submission, isOnlyChecked, resolve, reject }
    this.#count(waiting, 1)
    if (this.#turns.has(userId) || !this.#take(waiting)) this.#turns.add(userId, waiting)
    this.#sendGroups()
    return promise
  }

  /** Puts a submission into the next group. @returns whether it fits */
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

  /** Whether commits must wait for the store, so that readers can go on. */
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

  #failureOf(rejected: RejectedSubmission): ServiceError {
    const { code, detail, cause } = rejected
    if (!isPostponed(code)) return new ServiceError(code, rejected)
    if (code === 'data_damaged' && cause !== undefined) this.#with.damaged.note(cause.message)
    return postponedError(code, { ...(detail !== undefined && { detail }), cause })
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
