// How far the measurement store is behind the journal, for the main thread: what can be read, what
// is there for good, and who is waiting for it. What the store will not take is set aside
// before the watermark passes it.

import { setTimeout as pause } from 'node:timers/promises'
import { sensorsSetAside } from '../../control/set-aside.ts'
import { journalEntryBytes } from '../../domain/limits.ts'
import type { DataVersion } from '../../domain/sensor.ts'
import { EVER } from '../../domain/time.ts'
import type { TimeRange } from '../../domain/time.ts'
import type {
  Backlog,
  QueueFigures,
  ReadBarrier,
  VersionedSensor,
} from '../../ports/journal-queue.ts'
import type { MeasurementToSetAside } from '../../ports/store-upkeep.ts'
import type { Clock, Log, Metrics } from '../../ports/system.ts'
import type { CommitChannel } from '../commit/commit-channel.ts'
import { lastSeqOf, seqOf } from '../data-version.ts'
import type { Connection } from '../database.ts'
import { FlowRunner } from '../run-flow.ts'
import { JournalReader } from './journal-reader.ts'

/** The part of the journal that can be read from the measurement store. */
export interface ReadableRows {
  readonly throughSeq: number
  readonly measurements: number
}

/** The part of the journal that is in the measurement store for good. */
export interface ForwardedRows extends ReadableRows {
  /** What the store will never take. */
  readonly toSetAside: readonly MeasurementToSetAside[]
  /** How long the store took. */
  readonly durationMs: number
}

interface ReadWaiter {
  readonly seq: number
  readonly resolve: () => void
}

interface Collaborators {
  readonly database: Connection
  /** Sets aside, durably, what the store will not take; lets forwarded rows leave the journal. */
  readonly channel: Pick<CommitChannel, 'call' | 'noteForwarded'>
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  /** Tells the forwarder that somebody is waiting for rows. */
  readonly onAwaited: () => void
}

const SET_ASIDE_RETRY_MS = 1_000

export class ForwardProgress implements ReadBarrier, QueueFigures {
  readonly #with: Collaborators
  readonly #journal: JournalReader
  readonly #flows: FlowRunner
  readonly #readWaiters = new Set<ReadWaiter>()
  #onReadable: () => void = () => undefined
  #backlogEntries: number
  #forwardedSeq: number
  /** Rows up to this one can be read from the store, whether or not they are there for good. */
  #readableSeq: number
  /** Measurements that can be read but are not there for good yet. */
  #readableEntries = 0
  #settling: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(collaborators: Collaborators) {
    const { database } = collaborators
    const journal = new JournalReader(database)
    this.#with = collaborators
    this.#journal = journal
    this.#flows = new FlowRunner(database)
    this.#forwardedSeq = journal.forwardedSeq()
    this.#readableSeq = this.#forwardedSeq
    this.#backlogEntries = journal.totalsAfter(this.#forwardedSeq).entries
  }

  get backlogBytes(): number {
    return this.#backlogEntries * journalEntryBytes
  }

  get unreadable(): number {
    return this.#backlogEntries - this.#readableEntries
  }

  get isAwaited(): boolean {
    return this.#readWaiters.size > 0
  }

  onReadable(listener: () => void): void {
    this.#onReadable = listener
  }

  backlog(): Backlog {
    const committedAtMs = this.#journal.oldestAfter(this.#forwardedSeq)
    // Rows can reach the store before the answer to their commit is processed here.
    const entries = Math.max(0, this.#backlogEntries)
    const nowMs = this.#with.clock.nowMs()
    return {
      entries,
      bytes: entries * journalEntryBytes,
      oldestAgeMs: committedAtMs === undefined ? 0 : Math.max(0, nowMs - committedAtMs),
    }
  }

  async waitUntilReadable(versions: readonly DataVersion[], waitMsMax: number): Promise<boolean> {
    const seq = lastSeqOf(versions)
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

  async *findUnreadable(
    sensors: readonly VersionedSensor[],
    range: TimeRange,
  ): AsyncIterable<number> {
    // Before the look at what is set aside: what is to be set aside meanwhile is behind, then.
    const afterSeq = this.#readableSeq
    const aside = this.#setAsideAmong(sensors, range)
    yield* aside
    const behind = sensors.filter(({ id, dataVersion }) => {
      return seqOf(dataVersion) > afterSeq && !aside.has(id)
    })
    const throughSeq = lastSeqOf(behind.map(({ dataVersion }) => dataVersion))
    const wanted = new Set(idsOf(behind))
    yield* this.#journal.findSensors({ afterSeq, throughSeq }, wanted, range)
  }

  async listUnreadable(sensors: readonly VersionedSensor[]): Promise<ReadonlySet<number>> {
    const behind = sensors.filter(({ dataVersion }) => seqOf(dataVersion) > this.#readableSeq)
    return new Set([...idsOf(behind), ...this.#setAsideAmong(sensors, EVER)])
  }

  /** Rows with this many measurements were written. */
  noteJournalled(measurements: number): void {
    this.#backlogEntries += measurements
  }

  /** The store has made rows readable, all of them. */
  noteReadable(readable: ReadableRows): Promise<void> {
    // In order: earlier rows are not readable until what is not in the store is set aside.
    this.#settling = this.#settling.then(() => this.#show(readable))
    return this.#settling
  }

  /** The forwarder has settled rows. */
  noteForwarded(forwarded: ForwardedRows): Promise<void> {
    this.#settling = this.#settling.then(() => this.#settle(forwarded))
    return this.#settling
  }

  /** What was to be set aside from here on is set aside after the next start. */
  close(): void {
    this.#isClosed = true
  }

  async #settle({ throughSeq, measurements, toSetAside }: ForwardedRows): Promise<void> {
    // The watermark may pass measurements that are not in the store once they are set aside.
    while (toSetAside.length > 0 && !this.#isClosed) {
      try {
        await this.#with.channel.call('setAside', toSetAside)
        break
      } catch (error) {
        this.#with.log.error('cannot set aside what the store will not take', {
          error: String(error),
        })
        await pause(SET_ASIDE_RETRY_MS)
      }
    }
    if (this.#isClosed && toSetAside.length > 0) return
    const wasReadable = throughSeq <= this.#readableSeq
    if (wasReadable) this.#readableEntries -= measurements
    this.#forwardedSeq = throughSeq
    this.#backlogEntries -= measurements
    this.#with.channel.noteForwarded(throughSeq)
    const setAside = toSetAside.length
    this.#with.metrics.noteForwarded({ accepted: measurements - setAside, setAside })
    if (!wasReadable) this.#showThrough(throughSeq)
  }

  /** Those of which anything in the range is set aside and not settled yet. */
  #setAsideAmong(sensors: readonly VersionedSensor[], range: TimeRange): ReadonlySet<number> {
    return new Set(this.#flows.run(sensorsSetAside(idsOf(sensors), range)))
  }

  #show({ throughSeq, measurements }: ReadableRows): void {
    this.#readableEntries += measurements
    this.#showThrough(throughSeq)
  }

  #showThrough(seq: number): void {
    this.#readableSeq = seq
    for (const waiter of this.#readWaiters) {
      if (waiter.seq <= seq) waiter.resolve()
    }
    this.#onReadable()
  }
}

function idsOf(sensors: readonly VersionedSensor[]): number[] {
  return sensors.map(({ id }) => id)
}
