// Forwards the journal to the measurement store: next batch, write, sync, settle, and again.
// Nothing else retries writes. It may stop or be killed anywhere: whatever is not settled is
// written again, and writing the same measurements again changes nothing.
//
// A batch is readable as soon as it is written. One sync, while the next batches are written,
// covers everything written so far, so readers do not wait for a disk that is slow for a moment.
//
// An external store would idle between the last request of one batch and the first of the next, so
// the next batch is usually begun while one is under way. They are settled in order.
//
// A store that has restarted may have lost what it acknowledged shortly before. The journal keeps
// its newest rows for that: they are replayed, alternating with new rows.

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
  /** Called for every failed write, and when the store accepts measurements again. */
  readonly noteState: (isStoreWorking: boolean) => void
  /** Resolves after that time, or immediately when `signal` is aborted. */
  readonly pause: (durationMs: number, signal: AbortSignal) => Promise<void>
  readonly random: () => number
  readonly clock: Clock
  readonly log: Log
}

export interface ForwarderSettings {
  readonly batchMeasurementsMax: number
  /** Whether the store is another process, which may lose what it accepted. */
  readonly isStoreApart: boolean
}

/** A batch on its way. */
interface Forwarding {
  readonly batch: ClaimedBatch
  /** It fills so little of a write that waiting for more pays. */
  readonly isTrickle: boolean
  /** `undefined` if stopped before the store accepted the batch. */
  readonly writing: Promise<Written | undefined>
}

/** At most this much is written again after a crash; beyond it, writing waits for a sync. */
const UNSETTLED_MEASUREMENTS_MAX = 500_000

const LIFE_CHECK_EVERY_MS = 10 * SECOND_MS

/**
 * Each write has a fixed cost, so sparse measurements are gathered: after a batch that fills less
 * than this share, the next one waits this long, unless a reader waits for it.
 */
const GATHERED = { share: 1 / 3, pauseMs: 250 }

/**
 * A store on the same machine competes with submissions for the processors. While submissions
 * outpace forwarding, each write is followed by a pause of this many times its length, until the
 * backlog reaches this age. Longer pauses would leave the processors idle while submissions wait
 * for the disk.
 */
const GIVING_WAY = { pauseShare: 0.3, ageMsMax: MINUTE_MS }

export class Forwarder {
  readonly #with: ForwarderCollaborators
  readonly #settings: ForwarderSettings
  readonly #stopping = new AbortController()
  /** Batches that the store has accepted and that are not settled, oldest first. */
  readonly #unsettled: { readonly batch: JournalBatch; readonly written: Written }[] = []
  #unsettledMeasurements = 0
  /** Resolves when all of them are settled. */
  #settling: Promise<void> | undefined
  /** Begun while the previous batch was under way. */
  #ahead: Forwarding | undefined
  #replay: JournalReplay | undefined
  #lifeCheckedAtMs = -Infinity
  #lastUnknownOutcomeAtMs: number
  #running: Promise<void> | undefined
  #gathering = new AbortController()
  #idling = new AbortController()

  constructor(collaborators: ForwarderCollaborators, settings: ForwarderSettings) {
    this.#with = collaborators
    this.#settings = settings
    // A write of the previous process may still be on its way to an external store.
    const { clock } = collaborators
    this.#lastUnknownOutcomeAtMs = settings.isStoreApart ? clock.nowMs() : -Infinity
  }

  /** When a write last ended without a response, which means that it may still arrive. */
  get lastUnknownOutcomeAtMs(): number {
    return this.#lastUnknownOutcomeAtMs
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** A reader waits for what is in the journal now. */
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
    const mayBeginAhead = this.#settings.isStoreApart && !isTrickle && batch.isOutrun !== true
    this.#ahead = mayBeginAhead ? await this.#begin() : undefined
    const written = await next.writing
    if (written === undefined) return true
    await this.#settleLater(batch, written)
    if (isTrickle) await this.#with.pause(GATHERED.pauseMs, this.#gathering.signal)
    else if (batch.isOutrun === true && (await this.#mayWait())) {
      const pauseMs = written.durationMs * GIVING_WAY.pauseShare
      await this.#with.pause(pauseMs, this.#gathering.signal)
    }
    return true
  }

  /** Waits for the disk only if it has to. */
  async #settleLater(batch: JournalBatch, written: Written): Promise<void> {
    this.#unsettled.push({ batch, written })
    this.#unsettledMeasurements += batch.measurements.count
    this.#settling ??= this.#settle()
    const isAnySetAside = written.setAside.length > 0
    if (!isAnySetAside) await this.#with.queue.noteReadable(batch)
    // Settling looks up in the batch what is set aside, which is only valid until the next
    // claim.
    const mustWait = isAnySetAside || this.#unsettledMeasurements > UNSETTLED_MEASUREMENTS_MAX
    if (mustWait || this.#settings.isStoreApart) await this.#settling
  }

  /** Syncs and settles until nothing is left. Batches written meanwhile wait for the next sync. */
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
    // Anyone who hurries from here on waits for rows that this batch may not have.
    if (!this.#stopping.signal.aborted) this.#gathering = new AbortController()
    const batch = await this.#with.queue.claim(batchMeasurementsMax)
    if (batch === undefined) return undefined
    const isTrickle = batch.measurements.count < batchMeasurementsMax * GATHERED.share
    return { batch, isTrickle, writing: this.#write(batch) }
  }

  async #mayWait(): Promise<boolean> {
    if (!this.#settings.isStoreApart) return false
    const { queue, clock } = this.#with
    const oldestAtMs = await queue.oldestAtMs?.()
    return oldestAtMs !== undefined && clock.nowMs() - oldestAtMs < GIVING_WAY.ageMsMax
  }

  // What the store will not take now, it did not take when it was first written: that was set aside
  // then.
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
    // Read anew for each attempt: a sensor may be deleted while the store is unreachable.
    const written = await this.#write(batch, async () => (await read()) ?? batch)
    if (written !== undefined) await replay.pass(batch)
    return true
  }

  /** @returns `undefined` if stopped before the store accepted the batch */
  async #write(
    batch: JournalBatch,
    readAgain: () => Promise<JournalBatch> = async () => batch,
  ): Promise<Written | undefined> {
    const { writer, clock } = this.#with
    for (let attempt = 0; !this.#stopping.signal.aborted; attempt++) {
      try {
        const startedAtMs = clock.monotonicMs()
        const setAside = await writer.write(attempt === 0 ? batch : await readAgain())
        const durationMs = clock.monotonicMs() - startedAtMs
        if (attempt > 0) await this.#noteRecovery()
        return { setAside, durationMs }
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
    const { queue, writer } = this.#with
    const replay = await queue.replay?.(await writer.life?.())
    if (replay === undefined) return
    if (this.#replay === undefined) {
      this.#with.log.info('replaying the journal into the measurement store')
    }
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
