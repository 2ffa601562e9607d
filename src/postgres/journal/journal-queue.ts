// JournalQueue on PostgreSQL. The process that leases a stream forwards it, and alone knows what it
// has claimed. If it loses the lease, another process begins after the last row recorded as
// forwarded: it writes some rows again, which changes nothing.

import { setTimeout as pause } from 'node:timers/promises'
import { toSetAsideOf } from '../../domain/measurement-columns.ts'
import { SECOND_MS } from '../../domain/time.ts'
import type {
  ClaimedBatch,
  JournalBatch,
  JournalQueue,
  Written,
} from '../../ports/journal-queue.ts'
import type { Leases } from '../../ports/leases.ts'
import type { Clock, Log } from '../../ports/system.ts'
import type { Database, Sql } from '../server/database.ts'
import { ForwardLeases } from './forward-leases.ts'
import type { LeasedStream } from './forward-leases.ts'
import type { PostgresForwardProgress } from './forward-progress.ts'
import { pruneJournal } from './journal-pruning.ts'
import { readBatch } from './journal-rows.ts'
import type { LeasedBatch } from './journal-rows.ts'
import * as sql from './journal-statements.ts'

interface Collaborators {
  readonly database: Database
  readonly leases: Leases
  readonly progress: PostgresForwardProgress
  readonly clock: Clock
  readonly log: Log
}

const RETRY_MS = SECOND_MS
const UPKEEP_EVERY_MS = SECOND_MS
const LOOK_EVERY_MS = SECOND_MS / 4

export class PostgresJournalQueue implements JournalQueue {
  readonly #with: Collaborators
  readonly #leases: ForwardLeases
  readonly #upkeep: NodeJS.Timeout
  #isClosed = false
  #wake: (() => void) | undefined

  /** @param owner names this process */
  constructor(collaborators: Collaborators, owner: string) {
    const { database, clock } = collaborators
    this.#with = collaborators
    this.#leases = new ForwardLeases(database, clock, owner)
    this.#upkeep = setInterval(() => void this.#tend(), UPKEEP_EVERY_MS).unref()
  }

  /** Wakes the forwarder: this process has committed rows. */
  notify(): void {
    this.#wake?.()
  }

  async claim(measurementsMax: number): Promise<ClaimedBatch | undefined> {
    return this.#persist(async () => {
      const leased = await this.#nextStream()
      if (leased === undefined) return undefined
      const { stream, fence, claimedSeq: seq } = leased
      const range = { stream, seq, throughSeq: Number.MAX_SAFE_INTEGER }
      const batch = await readBatch(this.#with.database, range, measurementsMax)
      if (batch === undefined) return undefined
      leased.claimedSeq = batch.place.seq
      return { ...batch, place: { ...batch.place, fence } }
    })
  }

  async noteReadable(batch: JournalBatch): Promise<void> {
    const { database, progress } = this.#with
    const { stream, fence } = batch.place as LeasedBatch['place']
    // A process that has lost the lease may have written nothing.
    const isOurs = await this.#persist(() => database.rows(sql.IS_LEASED, [stream, fence]))
    if (isOurs?.length === 1) progress.noteReadable(batch.place, batch.measurements.count)
  }

  async settle(batch: JournalBatch, written: Written): Promise<void> {
    const { database, progress } = this.#with
    const { stream, seq, fence } = batch.place as LeasedBatch['place']
    const toSetAside = toSetAsideOf(batch.measurements, written.setAside)
    const isOurs = await this.#persist(() =>
      database.transaction(async (transaction) => {
        const noted = await transaction.change(sql.NOTE_FORWARDED, [stream, fence, seq])
        if (noted > 0) await this.#setAside(transaction, toSetAside)
        return noted > 0
      }),
    )
    const leased = this.#leases.find(stream, fence)
    if (isOurs === true) {
      progress.noteForwarded(batch.place, { ...written, count: batch.measurements.count })
    } else if (leased !== undefined) this.#leases.lose(leased)
  }

  async release(): Promise<void> {
    await this.#persist(() => this.#leases.leave(this.#leases.held))
  }

  async waitForRows(signal: AbortSignal): Promise<void> {
    const wake = () => this.notify()
    signal.addEventListener('abort', wake)
    try {
      await this.#lookForRows(signal)
    } finally {
      signal.removeEventListener('abort', wake)
    }
  }

  /** Gives up its leases. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#upkeep)
    await this.#leases.leave(this.#leases.held)
  }

  async #setAside(transaction: Sql, measurements: ReturnType<typeof toSetAsideOf>): Promise<void> {
    const nowMs = this.#with.clock.nowMs()
    for (const { sensorId, measuredAtMs, tieBreakNs, ...why } of measurements) {
      const [live] = await transaction.rows<{ userId: number }>(sql.KEEP_SENSOR, [sensorId])
      if (live === undefined) continue
      const place = [sensorId, live.userId, measuredAtMs, tieBreakNs]
      await transaction.change(sql.SET_ASIDE, [...place, why.tempCelsius, why.reason, nowMs])
    }
  }

  async #nextStream(): Promise<LeasedStream | undefined> {
    await this.#leases.take(false)
    const next = await this.#oldestStream()
    if (next !== undefined) return next
    await this.#leases.take(true)
    return this.#oldestStream()
  }

  /** The leased stream whose next row is the oldest. */
  async #oldestStream(): Promise<LeasedStream | undefined> {
    const { held } = this.#leases
    const [oldest] = await this.#with.database.rows<{ stream: number }>(sql.NEXT_STREAM, [
      held.map(({ stream }) => stream),
      held.map(({ claimedSeq }) => claimedSeq),
    ])
    return held.find(({ stream }) => stream === oldest?.stream)
  }

  async #lookForRows(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.#isClosed) {
      const woken = Promise.withResolvers<void>()
      this.#wake = woken.resolve
      if (await this.#persist(() => this.#hasRows())) return
      const timer = setTimeout(woken.resolve, LOOK_EVERY_MS)
      await woken.promise
      clearTimeout(timer)
    }
  }

  async #hasRows(): Promise<boolean> {
    const { held } = this.#leases
    const rows = await this.#with.database.rows(sql.HAS_ROWS, [
      held.map(({ stream }) => stream),
      held.map(({ claimedSeq }) => claimedSeq),
    ])
    return rows.length > 0
  }

  /** Upkeep; whatever fails is done the next time. */
  async #tend(): Promise<void> {
    try {
      await this.#leases.renew()
      await pruneJournal(this.#with)
    } catch (error) {
      this.#with.log.debug('cannot tend the journal now', { error: String(error) })
    }
  }

  /** Repeats work until the database answers. @returns `undefined` when closed */
  async #persist<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    for (let isFirst = true; !this.#isClosed; isFirst = false) {
      try {
        return await work()
      } catch (error) {
        if (isFirst) this.#with.log.warn('cannot read the journal now', { error: String(error) })
        await pause(RETRY_MS)
      }
    }
    return undefined
  }
}
