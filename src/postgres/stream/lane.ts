// A lane commits groups, one after another, through a connection and a stream of its own. It takes
// a stream that nobody holds, loses it to another process when it stalls, and finds out what became
// of a commit that was not answered. A group's way to its first SQL, and what each file adds:
//
//   submission-committer.ts   commit         the lane with the fewest groups waiting
//     │                       commitApart    halves, when a submission of the group is at fault
//     ▼
//   lane.ts                   commit         the turn: one group at a time
//     │                       commitInTime   the deadline, with which the connection is dropped
//     │                       commitGroup    retries, and the look-up of an unknown outcome
//     ▼                       transact       a session and a held stream
//   group-transaction.ts      run            one transaction: settings, locks, events, COMMIT
//   session.ts                send           one statement, behind those before it
//
// After a crash: what was answered is in the journal; what was not is there whole or not at all.

import { setTimeout as pause } from 'node:timers/promises'
import { postponedError, ServiceError } from '../../domain/errors.ts'
import { SECOND_MS } from '../../domain/time.ts'
import { asDiskFailure, isOutOfReach, isRace, OUT_OF_REACH_DETAIL } from '../server/failures.ts'
import type { Guard } from '../server/greetings.ts'
import type { Group } from './group.ts'
import type { Decided } from './group-decider.ts'
import { Fenced, GroupTransaction, OutcomeUnknown } from './group-transaction.ts'
import type { Attempt, HeldStream, TransactionSettings } from './group-transaction.ts'
import * as sql from './lane-statements.ts'
import { CommitCheck, ConnectionLost, Session } from './session.ts'

/**
 * How long a lane works at a group. After that its sender has gone, and the row of the journal that
 * tells the outcome may be pruned.
 */
const PATIENCE_MS = 10 * SECOND_MS

/** Between attempts to reach the database. */
const RECONNECT_MS = 100

export interface LaneSettings extends TransactionSettings, Guard {
  readonly databaseUrl: string
  /** Names this process to people who look at the database. */
  readonly owner: string
}

export class Lane {
  readonly #settings: LaneSettings
  #session: Session | undefined
  #held: HeldStream | undefined
  #lastStream = 0
  #turn: Promise<unknown> = Promise.resolve()
  #waiting = 0
  /** Aborted when the group being committed is out of time. */
  #patience = new AbortController()
  #isCut = false

  constructor(settings: LaneSettings) {
    this.#settings = settings
  }

  /** How many groups it has not finished. */
  get waiting(): number {
    return this.#waiting
  }

  /**
   * Commits a group after the earlier ones.
   *
   * @returns what was decided about each submission, once it is durable
   * @throws ServiceError `overloaded`, `storage_full`: nothing of the group is stored
   * @throws ServiceError `outcome_unknown`
   */
  async commit(group: Group): Promise<readonly Decided[]> {
    this.#waiting++
    const turn = this.#turn.then(() => this.#commitInTime(group))
    this.#turn = turn.then(ignore, ignore)
    try {
      return await turn
    } finally {
      this.#waiting--
    }
  }

  /** Gives up its groups, and the connection; whatever is under way may be stored or not. */
  cut(): void {
    this.#isCut = true
    this.#giveUp()
  }

  /** Finishes its groups, and leaves the stream to other lanes. */
  async close(): Promise<void> {
    await this.#turn
    const session = this.#session
    const held = this.#held
    if (session === undefined) return
    if (held !== undefined) {
      const place = [held.stream, held.fence]
      await session.send(sql.LEAVE_STREAM, place).then(ignore, ignore)
    }
    await session.close()
    this.#session = undefined
  }

  async #commitInTime(group: Group): Promise<readonly Decided[]> {
    this.#patience = new AbortController()
    const timer = setTimeout(() => this.#giveUp(), PATIENCE_MS)
    if (this.#isCut) this.#giveUp()
    try {
      return await this.#commitGroup(group)
    } finally {
      clearTimeout(timer)
    }
  }

  async #commitGroup(group: Group): Promise<readonly Decided[]> {
    let unknown: Attempt | undefined
    for (let isCareful = false; ; isCareful = true) {
      try {
        const known = unknown && (await this.#lookUpOutcome(unknown))
        unknown = undefined
        const decided = known ?? (await this.#transact(group, isCareful))
        if (decided !== undefined) return decided
      } catch (error) {
        if (error instanceof OutcomeUnknown) unknown = error.attempt
        await this.#recover(error, unknown !== undefined)
      }
      if (!this.#patience.signal.aborted) continue
      if (unknown !== undefined) throw postponedError('outcome_unknown')
      throw postponedError('overloaded', { detail: OUT_OF_REACH_DETAIL })
    }
  }

  async #transact(group: Group, isCareful: boolean): Promise<readonly Decided[] | undefined> {
    const session = await this.#connect()
    this.#held ??= await this.#takeStream(session)
    return new GroupTransaction(session, this.#held, group, this.#settings).run(isCareful)
  }

  /** Takes a stream that nobody holds, or makes one. */
  async #takeStream(session: Session): Promise<HeldStream> {
    const { owner } = this.#settings
    for (;;) {
      const place = [owner, this.#lastStream]
      const free = await session.send<HeldStream>(sql.TAKE_FREE_STREAM, place)
      const held = free.rows[0] ?? (await this.#makeStream(session))
      if (held === undefined) continue
      this.#lastStream = held.stream
      return held
    }
  }

  async #makeStream(session: Session): Promise<HeldStream | undefined> {
    await session.send(sql.PREPARE_STREAM)
    const mine = [this.#settings.owner]
    return (await session.send<HeldStream>(sql.MAKE_STREAM, mine)).rows[0]
  }

  /**
   * Looks up a group whose COMMIT was not answered. Taking its stream waits until the server has
   * finished the lost transaction; then the group's row tells.
   *
   * @returns what was decided about it; `undefined`: it is not stored
   */
  async #lookUpOutcome(attempt: Attempt): Promise<readonly Decided[] | undefined> {
    const { stream, seq, groupId, decided } = attempt
    const session = await this.#connect()
    const check = new CommitCheck(session, this.#settings)
    const begun = check.begin()
    const { owner } = this.#settings
    await Promise.all([begun, session.send(sql.TAKE_STREAM, [owner, stream])])
    await check.commit([])
    this.#lastStream = stream
    const { rowCount } = await session.send(sql.FIND_GROUP, [stream, seq, groupId])
    return rowCount === 1 ? decided : undefined
  }

  async #connect(): Promise<Session> {
    if (this.#session !== undefined) return this.#session
    const { databaseUrl, greet } = this.#settings
    this.#session = await Session.open(databaseUrl, { greet, signal: this.#patience.signal })
    return this.#session
  }

  #giveUp(): void {
    this.#patience.abort()
    this.#drop()
  }

  #drop(): void {
    this.#session?.destroy()
    this.#session = undefined
    this.#held = undefined
  }

  /** Prepares another attempt. @throws the error, if another attempt would be useless */
  async #recover(error: unknown, isUnknown: boolean): Promise<void> {
    if (error instanceof Fenced) {
      this.#held = undefined
      this.#lastStream = 0
      return
    }
    if (!isUnknown) {
      if (error instanceof ServiceError) throw error
      if (isRace(error)) return
      const failure = asDiskFailure(error)
      if (failure !== undefined || !isOfConnection(error)) throw failure ?? error
    }
    this.#drop()
    await pause(RECONNECT_MS)
  }
}

function ignore(): void {}

function isOfConnection(error: unknown): boolean {
  return error instanceof ConnectionLost || error instanceof OutcomeUnknown || isOutOfReach(error)
}
