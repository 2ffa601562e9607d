// JournalQueue on SQLite. Only one process forwards, so claims are kept in memory, and the journal
// is a single stream. The commit thread learns from the main thread how far the store is, and saves
// it.

import { rows } from '../../control/flow.ts'
import { sensorsOf, toSetAsideOf, withoutSensors } from '../../domain/measurement-columns.ts'
import type {
  ClaimedBatch,
  JournalBatch,
  JournalQueue,
  JournalReplay,
  Written,
} from '../../ports/journal-queue.ts'
import type { Connection } from '../database.ts'
import { FlowRunner } from '../run-flow.ts'
import type { ForwardedRows, ReadableRows } from './forward-progress.ts'
import { JournalReader } from './journal-reader.ts'

const DELETED_AMONG = `
  SELECT id FROM sensors WHERE id = ANY ($1::bigint[]) AND deleted_at_ms IS NOT NULL`

export type QueueNews = { readonly readable: ReadableRows } | { readonly forwarded: ForwardedRows }

interface Collaborators {
  readonly control: Connection
  /** Notifies the main thread. */
  readonly tell: (news: QueueNews) => void
  /** Shared: 1 while it waits for new rows. */
  readonly isIdle: Int32Array
}

export class SqliteJournalQueue implements JournalQueue {
  readonly #with: Collaborators
  readonly #journal: JournalReader
  /** A batch stays valid until the next but one is claimed. */
  readonly #inTurn: JournalReader[]
  readonly #replayed: JournalReader
  readonly #flows: FlowRunner
  #settledSeq: number
  #claimedSeq: number
  /** The last row at the time of the last claim. */
  #lastSeq: number
  readonly #lives = new StoreLives()
  #wake: (() => void) | undefined

  constructor(collaborators: Collaborators) {
    const { control } = collaborators
    this.#with = collaborators
    this.#journal = new JournalReader(control)
    this.#inTurn = [this.#journal, new JournalReader(control)]
    this.#replayed = new JournalReader(control)
    this.#flows = new FlowRunner(control)
    this.#settledSeq = this.#journal.forwardedSeq()
    this.#claimedSeq = this.#settledSeq
    this.#lastSeq = this.#settledSeq
  }

  /** Rows up to this one are in the store for good. */
  get settledSeq(): number {
    return this.#settledSeq
  }

  /** There are new rows. */
  notify(): void {
    this.#wake?.()
  }

  async claim(measurementsMax: number): Promise<ClaimedBatch | undefined> {
    this.#inTurn.reverse()
    const batch = this.#inTurn[0]?.readBatch(this.#claimedSeq, measurementsMax)
    if (batch === undefined) return undefined
    const { seq } = batch.place
    const claimed = seq - this.#claimedSeq
    const lastSeq = this.#journal.lastSeq()
    const isOutrun = lastSeq - this.#lastSeq > claimed
    this.#lastSeq = lastSeq
    this.#claimedSeq = seq
    return { ...batch, isOutrun }
  }

  async noteReadable({ place, measurements }: JournalBatch): Promise<void> {
    this.#with.tell({ readable: { throughSeq: place.seq, measurements: measurements.count } })
  }

  async settle(
    { place, measurements }: JournalBatch,
    { setAside, durationMs }: Written,
  ): Promise<void> {
    this.#settledSeq = place.seq
    this.#with.tell({
      forwarded: {
        throughSeq: place.seq,
        measurements: measurements.count,
        toSetAside: toSetAsideOf(measurements, setAside),
        durationMs,
      },
    })
  }

  async release(): Promise<void> {
    this.#claimedSeq = this.#settledSeq
  }

  async replay(life: string | undefined): Promise<JournalReplay | undefined> {
    // A batch being written may land just before the restart: it is claimed, so it is among these.
    const throughSeq = this.#claimedSeq
    if (!this.#lives.isAnother(life) || throughSeq === 0) return undefined
    let afterSeq = 0
    return {
      read: async (measurementsMax) =>
        afterSeq < throughSeq ? this.#readReplay(afterSeq, measurementsMax) : undefined,
      pass: async ({ place }) => {
        afterSeq = place.seq
      },
    }
  }

  async oldestAtMs(): Promise<number | undefined> {
    return this.#journal.oldestAfter(this.#settledSeq)
  }

  async waitForRows(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    const stop = () => resolve()
    signal.addEventListener('abort', stop)
    // Set before looking: whoever commits in between notifies it.
    Atomics.store(this.#with.isIdle, 0, 1)
    if (signal.aborted || this.#journal.lastSeq() > this.#claimedSeq) resolve()
    await promise
    signal.removeEventListener('abort', stop)
    if (this.#wake === resolve) this.#wake = undefined
  }

  #readReplay(afterSeq: number, measurementsMax: number): JournalBatch | undefined {
    const batch = this.#replayed.readBatch(afterSeq, measurementsMax)
    if (batch === undefined) return undefined
    // Deleted sensors must not be written again.
    const deleted = this.#flows.run(rows<{ id: number }>(DELETED_AMONG, [...sensorsOf(batch)]))
    return withoutSensors(batch, new Set(deleted.map(({ id }) => id)))
  }
}

/**
 * When the measurement store, another process, restarted: each time it may have lost what it took
 * shortly before.
 */
export class StoreLives {
  #last: string | undefined
  #isInDoubt = false

  /**
   * Whether the store may have lost something since the last look: it lives again, or no longer
   * tells.
   */
  isAnother(life: string | undefined): boolean {
    if (life === undefined) {
      const isNews = !this.#isInDoubt
      this.#isInDoubt = true
      return isNews
    }
    // Also after a doubt: what was written again meanwhile may have gone into the end of the last.
    const isNews = life !== this.#last
    this.#last = life
    this.#isInDoubt = false
    return isNews
  }
}
