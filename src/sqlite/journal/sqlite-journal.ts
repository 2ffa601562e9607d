// Journal on SQLite, as the main thread sees it. Submissions that arrive while a commit is under
// way become the next group; one that finds nothing under way is committed at once, alone. The
// queue is bounded in submissions and in measurements.

import { setTimeout as pause } from 'node:timers/promises'
import {
  journalEntryBytes,
  measurementsInFlightMax,
  submissionsInFlightMax,
} from '../../domain/limits.ts'
import { ServiceError } from '../../domain/errors.ts'
import type { RequestFault } from '../../domain/errors.ts'
import type { Receipt, Submission } from '../../domain/measurement.ts'
import { refusalError } from '../../domain/refusal.ts'
import type { SensorId } from '../../domain/sensor.ts'
import type { DurationMs, TimeRange } from '../../domain/time.ts'
import type { Backlog, Clock, Journal, Log, Metrics } from '../../ports.ts'
import { StorageFull } from '../commit-channel.ts'
import type { CommitChannel } from '../commit-channel.ts'
import { allocateGroup, GroupBuilder } from './group-frame.ts'
import type { GroupResult } from './group-frame.ts'
import { createReceipts } from './group-receipts.ts'
import type { JournalReader } from './journal-reader.ts'
import type { Refused, SetAside } from './set-aside.ts'
import { StorePace } from './store-pace.ts'

/** A submission that is encoded and waits for its receipt. */
interface Waiting {
  readonly measurements: number
  readonly resolve: (receipt: Receipt) => void
  readonly reject: (reason: unknown) => void
}

interface WaitingGroup {
  readonly builder: GroupBuilder
  readonly waiting: Waiting[]
}

interface ReadWaiter {
  readonly seq: number
  readonly resolve: () => void
}

/** What of the journal can be read from the measurement store. */
export interface Readable {
  readonly throughSeq: number
  readonly measurements: number
}

/** What of the journal is in the measurement store for good. */
export interface Forwarded extends Readable {
  /** What the store will never take. */
  readonly refused: readonly Refused[]
}

export interface JournalCollaborators {
  readonly channel: CommitChannel
  readonly reader: JournalReader
  readonly setAsideRows: SetAside
  /** Keeps what the store refuses. Resolves when that is durable. */
  readonly setAside: (refused: readonly Refused[]) => Promise<void>
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  /** Whether the volume has so little room left that nothing may be accepted. */
  readonly isDiskLow: () => boolean
  /** Tells the forwarder that there are new rows. */
  readonly onCommitted: () => void
  /** Tells the forwarder that somebody waits for rows. */
  readonly onAwaited: () => void
}

const SET_ASIDE_RETRY_MS = 1_000

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

export class SqliteJournal implements Journal {
  readonly #with: JournalCollaborators
  readonly #bytesMax: number
  readonly #groupsInFlightMax: number
  readonly #spareBuffers: SharedArrayBuffer[] = []
  readonly #readWaiters = new Set<ReadWaiter>()
  /** The groups that wait, oldest first; only the last one takes more. */
  readonly #groups: WaitingGroup[] = []
  readonly #pace: StorePace | undefined
  #submissionsInFlight = 0
  #measurementsInFlight = 0
  #groupsInFlight = 0
  #backlogEntries: number
  #forwardedSeq: number
  /** Rows up to here can be read from the store, whether or not they are forwarded for good. */
  #readableSeq: number
  /** Measurements that can be read and are not forwarded. */
  #readableEntries = 0
  #settling: Promise<void> = Promise.resolve()
  #isClosed = false

  /** @param settings.bytesMax beyond it submissions are refused until the store has caught up */
  constructor(
    collaborators: JournalCollaborators,
    settings: { bytesMax: number; isStoreApart: boolean },
  ) {
    this.#with = collaborators
    this.#bytesMax = settings.bytesMax
    const { storeApart, storeInside } = GROUPS_IN_FLIGHT_MAX
    this.#groupsInFlightMax = settings.isStoreApart ? storeApart : storeInside
    if (!settings.isStoreApart) {
      this.#pace = new StorePace(collaborators.clock, () => this.#sendGroups())
    }
    this.#forwardedSeq = collaborators.reader.forwardedSeq()
    this.#readableSeq = this.#forwardedSeq
    this.#backlogEntries = collaborators.reader.totalsAfter(this.#forwardedSeq).entries
  }

  refusal(): 'overloaded' | 'storage_full' | 'shutting_down' | undefined {
    if (this.#isClosed) return 'shutting_down'
    if (this.#with.isDiskLow()) return 'storage_full'
    const isQueueFull =
      this.#submissionsInFlight >= submissionsInFlightMax ||
      this.#measurementsInFlight >= measurementsInFlightMax
    const isJournalFull = this.#backlogEntries * journalEntryBytes >= this.#bytesMax
    return isQueueFull || isJournalFull ? 'overloaded' : undefined
  }

  commit(submission: Submission): Promise<Receipt> {
    return this.#submit(submission, false)
  }

  async check(submission: Submission): Promise<readonly RequestFault[]> {
    try {
      await this.#submit(submission, true)
    } catch (error) {
      if (error instanceof ServiceError && error.faults !== undefined) return error.faults
      throw error
    }
    throw new Error('BUG: a submission that was only to be checked was accepted')
  }

  #submit(submission: Submission, isOnlyChecked: boolean): Promise<Receipt> {
    const refusal = this.refusal()
    if (refusal !== undefined) return Promise.reject(refusalError(refusal))
    return new Promise((resolve, reject) => {
      const measurements = submission.measurements.length
      const group = this.#groupFor(measurements)
      group.builder.add(submission, isOnlyChecked)
      group.waiting.push({ measurements, resolve, reject })
      this.#submissionsInFlight++
      this.#measurementsInFlight += measurements
      this.#sendGroups()
    })
  }

  backlog(): Backlog {
    const { reader, clock } = this.#with
    const committedAtMs = reader.oldestAfter(this.#forwardedSeq)
    // Rows can be in the store before the answer of their commit is taken apart here.
    const entries = Math.max(0, this.#backlogEntries)
    return {
      entries,
      bytes: entries * journalEntryBytes,
      oldestAgeMs: committedAtMs === undefined ? 0 : Math.max(0, clock.nowMs() - committedAtMs),
    }
  }

  async waitUntilReadable(seq: number, waitMsMax: DurationMs): Promise<boolean> {
    if (seq <= this.#readableSeq) return true
    this.#with.onAwaited()
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiter = { seq, resolve }
    this.#readWaiters.add(waiter)
    const timer = setTimeout(resolve, waitMsMax)
    await promise
    clearTimeout(timer)
    this.#readWaiters.delete(waiter)
    return seq <= this.#readableSeq
  }

  async hasUnreadable(
    sensor: { id: SensorId; dataSeq: number },
    range: TimeRange,
  ): Promise<boolean> {
    if (this.#with.setAsideRows.has(sensor.id, range)) return true
    const rows = { afterSeq: this.#readableSeq, throughSeq: sensor.dataSeq }
    if (rows.throughSeq <= rows.afterSeq) return false
    return this.#with.reader.hasMeasurements(rows, sensor.id, range)
  }

  /** Rows were written that do not come from a submission. */
  noteJournalled(measurements: number): void {
    this.#backlogEntries += measurements
    this.#with.onCommitted()
  }

  /** The store shows rows, and has refused none of them. */
  noteReadable(readable: Readable): Promise<void> {
    // In its turn: rows before that were refused are not readable until they are set aside.
    this.#settling = this.#settling.then(() => this.#show(readable))
    return this.#settling
  }

  /** The forwarder has settled rows. */
  noteForwarded(forwarded: Forwarded): Promise<void> {
    this.#settling = this.#settling.then(() => this.#settle(forwarded))
    return this.#settling
  }

  async #settle({ throughSeq, measurements, refused }: Forwarded): Promise<void> {
    // The watermark may pass what was refused only when that is kept elsewhere.
    while (refused.length > 0 && !this.#isClosed) {
      try {
        await this.#with.setAside(refused)
        break
      } catch (error) {
        this.#with.log.error('cannot set aside what the store refuses', { error: String(error) })
        await pause(SET_ASIDE_RETRY_MS)
      }
    }
    if (this.#isClosed && refused.length > 0) return
    const wasReadable = throughSeq <= this.#readableSeq
    if (wasReadable) this.#readableEntries -= measurements
    this.#forwardedSeq = throughSeq
    this.#backlogEntries -= measurements
    this.#with.channel.noteForwarded(throughSeq)
    const rejected = refused.length
    this.#with.metrics.noteForwarded({ accepted: measurements - rejected, rejected })
    if (!wasReadable) this.#showThrough(throughSeq)
  }

  #show({ throughSeq, measurements }: Readable): void {
    this.#readableEntries += measurements
    this.#showThrough(throughSeq)
  }

  #showThrough(seq: number): void {
    this.#readableSeq = seq
    for (const waiter of this.#readWaiters) {
      if (waiter.seq <= seq) waiter.resolve()
    }
    this.#pace?.noteReadable()
  }

  /** Takes no more submissions; those that were taken are still answered. */
  close(): void {
    this.#isClosed = true
  }

  #groupFor(measurements: number): WaitingGroup {
    const last = this.#groups.at(-1)
    if (last?.builder.hasRoomFor(measurements) === true) return last
    const buffer = this.#spareBuffers.pop() ?? allocateGroup()
    const group = { builder: new GroupBuilder(buffer), waiting: [] }
    this.#groups.push(group)
    return group
  }

  #sendGroups(): void {
    for (let group = this.#groups[0]; group !== undefined; group = this.#groups[0]) {
      const isWorthwhile =
        group.builder.elements >= GROUP_AHEAD.measurementsMin ||
        group.waiting.length >= GROUP_AHEAD.submissionsMin
      const mayBeSent = this.#groupsInFlight < (isWorthwhile ? this.#groupsInFlightMax : 1)
      if (!mayBeSent || this.#mustWaitForStore()) return
      this.#groups.shift()
      void this.#commitGroup(group)
    }
  }

  /** Whether who reads has to get on first. */
  #mustWaitForStore(): boolean {
    const isAwaited = this.#readWaiters.size > 0
    return isAwaited && this.#pace?.mustWait(this.#backlogEntries - this.#readableEntries) === true
  }

  async #commitGroup({ builder, waiting }: WaitingGroup): Promise<void> {
    const { channel, clock } = this.#with
    this.#groupsInFlight++
    const startedAtMs = clock.monotonicMs()
    try {
      const result = await channel.commitGroup(builder.finish())
      this.#answer(waiting, result, clock.monotonicMs() - startedAtMs)
      this.#spareBuffers.push(result.buffer)
    } catch (error) {
      const reason = error instanceof StorageFull ? refusalError('storage_full') : error
      for (const { reject } of waiting) reject(reason)
    }
    this.#groupsInFlight--
    this.#submissionsInFlight -= waiting.length
    for (const { measurements } of waiting) this.#measurementsInFlight -= measurements
    this.#sendGroups()
  }

  #answer(waiting: readonly Waiting[], result: GroupResult, durationMs: DurationMs): void {
    if (result.seq > 0) this.#with.onCommitted()
    const refusals = new Map(result.refusals.map((refusal) => [refusal.submission, refusal]))
    const elements = waiting.reduce((sum, { measurements }) => sum + measurements, 0)
    const receiptFor = createReceipts(result, elements)
    const decided = { created: 0, duplicate: 0, conflict: 0 }
    let start = 0
    waiting.forEach(({ measurements, resolve, reject }, at) => {
      const refusal = refusals.get(at)
      if (refusal === undefined) {
        const receipt = receiptFor(start, measurements)
        decided.created += receipt.counts.created
        decided.duplicate += receipt.counts.duplicate
        decided.conflict += receipt.counts.conflict
        resolve(receipt)
      } else {
        reject(new ServiceError(refusal.code, refusal))
      }
      start += measurements
    })
    this.#backlogEntries += decided.created
    this.#with.metrics.noteGroup({ ...decided, durationMs })
  }
}
