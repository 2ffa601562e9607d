// The way from the journal to the measurement store: next batch, write, sync, settle, and again. It
// is the only place that retries. It may stop, or be killed, anywhere: what is not settled is
// written again, and writing the same measurements again changes nothing.
//
// What is written can be read. It is synced beside the next writes, all that was written until then
// at once: a disk that is slow for a moment makes nobody wait who reads.
//
// A store apart would stand still from the last request of a batch to the first of the next: where
// nothing speaks for waiting, the next is begun while the one before is under way. They are settled
// in their order.
//
// A store that has started anew may have lost what it acknowledged shortly before. The journal
// keeps the rows of its last hours for that: they are replayed, in turn with new rows.

import { StoreUnavailable } from '../domain/errors.ts'
import { MINUTE_MS, SECOND_MS } from '../domain/time.ts'
import type {
  ClaimedBatch,
  JournalBatch,
  JournalQueue,
  JournalReplay,
  Written,
} from '../ports/journal-queue.ts'
import type { MeasurementWriter } from '../ports/measurement-store.ts'
import type { Clock, Log } from '../ports/system.ts'
import { backoffMs } from './backoff.ts'

export interface ForwarderCollaborators {
  readonly queue: JournalQueue
  readonly writer: MeasurementWriter
  /** Told of every write that does not work, and when the store takes measurements again. */
  readonly noteState: (isStoreWorking: boolean) => void
  /** Resolves after that time, at once when `signal` is aborted. */
  readonly pause: (durationMs: number, signal: AbortSignal) => Promise<void>
  readonly random: () => number
  readonly clock: Clock
  readonly log: Log
}

export interface ForwarderSettings {
  readonly batchMeasurementsMax: number
  /** Whether the store's process has a life of its own, so that it may lose what it took. */
  readonly isStoreApart: boolean
}

/** A batch on its way. */
interface Forwarding {
  readonly batch: ClaimedBatch
  /** It fills a write so little that the next is worth waiting for. */
  readonly isTrickle: boolean
  /** `undefined` when it was stopped before the store took the batch. */
  readonly writing: Promise<Written | undefined>
}

/** So much is written again, at most, after a crash; what is more waits for a sync. */
const UNSETTLED_MEASUREMENTS_MAX = 500_000

const LIFE_CHECK_EVERY_MS = 10 * SECOND_MS

/**
 * A write has a cost of its own, so what trickles in is gathered: after a batch that is not full
 * to this share the next one waits for so long, unless somebody waits for it.
 */
const GATHERED = { share: 1 / 3, pauseMs: 250 }

/**
 * A store on the same machine takes the processors from those who submit: while more comes than is
 * forwarded, writes are so many times their length apart, until what waits is as old as this. More
 * would leave the processors idle while who submits waits for the disk.
 */
const GIVING_WAY = { pauseShare: 0.3, ageMsMax: MINUTE_MS }

export class Forwarder {
  readonly #with: ForwarderCollaborators
  readonly #settings: ForwarderSettings
  readonly #stopping = new AbortController()
  /** Batches that the store took and that are not settled, oldest first. */
  readonly #unsettled: { readonly batch: JournalBatch; readonly written: Written }[] = []
  #unsettledMeasurements = 0
  /** Until all of them are settled. */
  #settling: Promise<void> | undefined
  /** Begun while the batch before was under way. */
  #ahead: Forwarding | undefined
  #replay: JournalReplay | undefined
  /** As it was last told. */
  #life: string | undefined
  #isLifeInDoubt = false
  #lifeCheckedAtMs = -Infinity
  #lastUnknownOutcomeAtMs: number
  #running: Promise<void> | undefined
  #gathering = new AbortController()
  #idling = new AbortController()

  constructor(collaborators: ForwarderCollaborators, settings: ForwarderSettings) {
    this.#with = collaborators
    this.#settings = settings
    // A write of the process before this one may still be on its way to a store of its own.
    const { clock } = collaborators
    this.#lastUnknownOutcomeAtMs = settings.isStoreApart ? clock.nowMs() : -Infinity
  }

  /** When a write last ended without an answer, so that it may still arrive. */
  get lastUnknownOutcomeAtMs(): number {
    return this.#lastUnknownOutcomeAtMs
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Somebody waits for what is in the journal now. */
  hurry(): void {
    this.#gathering.abort()
  }

  /** Lets the write under way finish; the backlog stays in the journal. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#gathering.abort()
    this.#idling.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    if (this.#settings.isStoreApart) await this.#startReplay()
    while (!this.#stopping.signal.aborted) {
      await this.#checkLife()
      const isForwarded = await this.#forwardNext()
      const isReplayed = await this.#replayNext()
      if (!isForwarded && !isReplayed) await this.#newRows()
    }
    await this.#ahead?.writing
    await this.#settling
    await this.#with.queue.release()
  }

  async #forwardNext(): Promise<boolean> {
    const next = this.#ahead ?? (await this.#begin())
    if (next === undefined) return false
    const { batch, isTrickle } = next
    const mayBeginAhead = this.#settings.isStoreApart && !isTrickle && !batch.isOutrun
    this.#ahead = mayBeginAhead ? await this.#begin() : undefined
    const written = await next.writing
    if (written === undefined) return true
    await this.#settleLater(batch, written)
    if (isTrickle) await this.#with.pause(GATHERED.pauseMs, this.#gathering.signal)
    else if (batch.isOutrun && (await this.#mayWait())) {
      const pauseMs = written.durationMs * GIVING_WAY.pauseShare
      await this.#with.pause(pauseMs, this.#gathering.signal)
    }
    return true
  }

  /** Does not wait for the disk, unless there is a reason to. */
  async #settleLater(batch: JournalBatch, written: Written): Promise<void> {
    this.#unsettled.push({ batch, written })
    this.#unsettledMeasurements += batch.measurements.count
    this.#settling ??= this.#settle()
    const hasRejected = written.rejected.length > 0
    if (!hasRejected) await this.#with.queue.noteReadable(batch)
    // What was rejected is looked up in the batch, which is good for the next moment only.
    const mustWait = hasRejected || this.#unsettledMeasurements > UNSETTLED_MEASUREMENTS_MAX
    if (mustWait || this.#settings.isStoreApart) await this.#settling
  }

  /** Syncs and settles until nothing is left. What is written meanwhile waits for the next sync. */
  async #settle(): Promise<void> {
    while (this.#unsettled.length > 0) {
      const synced = this.#unsettled.length
      await this.#with.writer.sync()
      for (const { batch, written } of this.#unsettled.splice(0, synced)) {
        this.#unsettledMeasurements -= batch.measurements.count
        await this.#with.queue.settle(batch, written)
      }
    }
    this.#settling = undefined
  }

  /** Claims the next batch and begins to write it. */
  async #begin(): Promise<Forwarding | undefined> {
    const { batchMeasurementsMax } = this.#settings
    // Whoever is in a hurry from here on waits for rows that this batch may not have.
    if (!this.#stopping.signal.aborted) this.#gathering = new AbortController()
    const batch = await this.#with.queue.claim(batchMeasurementsMax)
    if (batch === undefined) return undefined
    const isTrickle = batch.measurements.count < batchMeasurementsMax * GATHERED.share
    return { batch, isTrickle, writing: this.#write(batch) }
  }

  async #mayWait(): Promise<boolean> {
    if (!this.#settings.isStoreApart) return false
    const { queue, clock } = this.#with
    const oldestAtMs = await queue.oldestAtMs()
    return oldestAtMs !== undefined && clock.nowMs() - oldestAtMs < GIVING_WAY.ageMsMax
  }

  // What the store refuses now it has refused, and was set aside, when it was written first.
  async #replayNext(): Promise<boolean> {
    const replay = this.#replay
    if (replay === undefined) return false
    const read = () => replay.read(this.#settings.batchMeasurementsMax)
    const batch = await read()
    if (batch === undefined) {
      this.#replay = undefined
      this.#with.log.info('replayed the journal into the measurement store')
      return false
    }
    // Read anew for each attempt: a sensor may be deleted while the store is out of reach.
    const written = await this.#write(batch, async () => (await read()) ?? batch)
    if (written !== undefined) replay.pass(batch)
    return true
  }

  /** @returns `undefined` when it was stopped before the store took the batch */
  async #write(
    batch: JournalBatch,
    readAgain: () => Promise<JournalBatch> = async () => batch,
  ): Promise<Written | undefined> {
    const { writer, clock } = this.#with
    for (let attempt = 0; !this.#stopping.signal.aborted; attempt++) {
      try {
        const startedAtMs = clock.monotonicMs()
        const rejected = await writer.write(attempt === 0 ? batch : await readAgain())
        const durationMs = clock.monotonicMs() - startedAtMs
        if (attempt > 0) await this.#noteRecovery()
        return { rejected, durationMs }
      } catch (error) {
        await this.#noteFailure(error, attempt)
      }
    }
    return undefined
  }

  async #noteFailure(error: unknown, attempt: number): Promise<void> {
    const { clock, log, noteState, pause, random } = this.#with
    const isKnown = error instanceof StoreUnavailable && !error.isOutcomeUnknown
    if (!isKnown) this.#lastUnknownOutcomeAtMs = clock.nowMs()
    const askedMs = error instanceof StoreUnavailable ? (error.retryAfterMs ?? 0) : 0
    const pauseMs = Math.max(askedMs, backoffMs(attempt, random()))
    noteState(false)
    if (attempt === 0) {
      const reason = error instanceof Error ? error.message : String(error)
      const fields = { error: reason, next_attempt_ms: Math.round(pauseMs) }
      const isPaused = error instanceof StoreUnavailable && error.isPaused
      if (isPaused) log.error('measurement store refuses us; the journal keeps all', fields)
      else log.warn('measurement store takes no measurements; the journal keeps them', fields)
    }
    await pause(pauseMs, this.#stopping.signal)
  }

  async #noteRecovery(): Promise<void> {
    this.#with.noteState(true)
    this.#with.log.info('measurement store takes measurements again')
    this.#lifeCheckedAtMs = -Infinity
    await this.#checkLife()
  }

  async #checkLife(): Promise<void> {
    const nowMs = this.#with.clock.monotonicMs()
    if (!this.#settings.isStoreApart || nowMs < this.#lifeCheckedAtMs + LIFE_CHECK_EVERY_MS) return
    this.#lifeCheckedAtMs = nowMs
    const life = await this.#with.writer.life()
    if (life === undefined) {
      if (!this.#isLifeInDoubt) await this.#startReplay()
      this.#isLifeInDoubt = true
      return
    }
    // What was replayed in the meantime may have been the end of the life before.
    const isAnother = life !== this.#life && (this.#life !== undefined || this.#isLifeInDoubt)
    if (isAnother) await this.#startReplay()
    this.#life = life
    this.#isLifeInDoubt = false
  }

  async #startReplay(): Promise<void> {
    // What is being written may be taken by the life that ends: it is claimed, so it is in it.
    const replay = await this.#with.queue.replay()
    if (replay === undefined) return
    this.#with.log.info('replaying the journal into the measurement store')
    this.#replay = replay
  }

  async #newRows(): Promise<void> {
    const idling = new AbortController()
    this.#idling = idling
    if (this.#stopping.signal.aborted) return
    const waiting = [this.#with.queue.waitForRows(idling.signal)]
    if (this.#settings.isStoreApart) {
      waiting.push(this.#with.pause(LIFE_CHECK_EVERY_MS, idling.signal))
    }
    await Promise.race(waiting)
    idling.abort()
  }
}
