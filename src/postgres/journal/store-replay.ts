// Writes again what a store may have lost when it restarted. The database records the store's life,
// and how far each stream was written again. The process that notices a new life orders the replay;
// the process that leases a stream does it, and leaves the rest to the next one if it ends.

import { shardOfStream } from '../../domain/shard.ts'
import { withoutDeleted } from '../../control/sensor-deletions.ts'
import type { JournalBatch, JournalReplay } from '../../ports/journal-queue.ts'
import { runFlow } from '../server/database.ts'
import type { Database } from '../server/database.ts'
import type { ForwardLeases } from './forward-leases.ts'
import { readBatch } from './journal-rows.ts'
import type { LeasedBatch } from './journal-rows.ts'
import * as sql from './journal-statements.ts'

interface Collaborators {
  readonly database: Database
  readonly leases: ForwardLeases
  /** Repeats work until the database answers. */
  readonly persist: <Result>(work: () => Promise<Result>) => Promise<Result | undefined>
  /** Called with a batch that was written after its lease was lost. */
  readonly onLate: (batch: JournalBatch) => Promise<void>
}

export class StoreReplay implements JournalReplay {
  readonly #with: Collaborators
  #hasOrderedBlindly = false

  constructor(collaborators: Collaborators) {
    this.#with = collaborators
  }

  /** Orders a replay of all streams, once for each life of the store. */
  async order(life: string | undefined): Promise<void> {
    const isOrdered = await this.#with.database.transaction(async (transaction) => {
      const isAnother =
        life === undefined
          ? !this.#hasOrderedBlindly && (await transaction.rows(sql.HAS_LIFE)).length === 0
          : (await transaction.change(sql.NOTE_LIFE, [life])) > 0
      if (isAnother) await transaction.change(sql.ORDER_REPLAY)
      return isAnother
    })
    if (life === undefined) this.#hasOrderedBlindly = true
    if (isOrdered) this.#with.leases.loseAll()
  }

  /** Whether this process has anything to write again. */
  get isUnderWay(): boolean {
    return this.#with.leases.held.some(({ replay }) => replay !== undefined)
  }

  async read(measurementsMax: number): Promise<JournalBatch | undefined> {
    return this.#with.persist(async () => {
      const { database, leases } = this.#with
      for (const leased of leases.held) {
        const { stream, fence, replay } = leased
        if (replay === undefined) continue
        const batch = await readBatch(database, { stream, ...replay }, measurementsMax)
        const place = { stream, fence, seq: batch?.place.seq ?? replay.throughSeq }
        if (batch !== undefined) return runFlow(database, withoutDeleted({ ...batch, place }))
        await this.#note(place)
      }
      return undefined
    })
  }

  async pass(batch: JournalBatch): Promise<void> {
    const place = batch.place as LeasedBatch['place']
    const isOurs = await this.#with.persist(() => this.#note(place))
    if (isOurs === false) await this.#with.onLate(batch)
  }

  /** @returns whether the lease is still held */
  async #note({ stream, fence, seq }: LeasedBatch['place']): Promise<boolean> {
    const { database, leases } = this.#with
    const place = [shardOfStream(stream), stream, fence]
    const noted = await database.change(sql.NOTE_REPLAYED, [...place, seq])
    const leased = leases.find(stream, fence)
    if (leased === undefined) return noted > 0
    if (noted === 0) leases.lose(leased)
    else if (leased.replay !== undefined) {
      const { throughSeq } = leased.replay
      leased.replay = seq < throughSeq ? { seq, throughSeq } : undefined
    }
    return noted > 0
  }
}
