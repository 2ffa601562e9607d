// Writes again what a store may have lost when it restarted. The database records the store's life,
// for each shard, and how far each stream was written again. The process that notices a new life
// orders the replay; the process that leases a stream does it, and leaves the rest to the next one
// if it ends.

import { shardOfStream } from '../../domain/shard.ts'
import { withoutDeleted } from '../../control/sensor-deletions.ts'
import type { JournalBatch, JournalReplay } from '../../ports/journal-queue.ts'
import { runFlow } from '../server/database.ts'
import type { ShardServer } from '../server/shard-servers.ts'
import type { ForwardLeases } from './forward-leases.ts'
import { readBatch } from './journal-rows.ts'
import type { LeasedBatch } from './journal-rows.ts'
import * as sql from './journal-statements.ts'

interface Collaborators {
  readonly server: ShardServer
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
    if (life === undefined && this.#hasOrderedBlindly) return
    const { database, shards } = this.#with.server
    const isOrdered = await database.transaction(async (transaction) => {
      const [text, values] =
        life === undefined ? [sql.LIFELESS, [shards]] : [sql.NOTE_LIFE, [shards, life]]
      const found = await transaction.rows<{ shard: number }>(text, values)
      if (found.length === 0) return false
      await transaction.change(sql.ORDER_REPLAY, [found.map(({ shard }) => shard)])
      return true
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
      const { server, leases } = this.#with
      const { database } = server
      for (const leased of leases.held) {
        const { stream, fence, replay } = leased
        if (replay === undefined) continue
        const batch = await readBatch(database, { stream, ...replay }, measurementsMax)
        const place = { stream, fence, seq: batch?.place.seq ?? replay.throughSeq }
        if (batch !== undefined) {
          const shard = shardOfStream(stream)
          return runFlow(database, withoutDeleted({ ...batch, place }, shard))
        }
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
    const { server, leases } = this.#with
    const place = [shardOfStream(stream), stream, fence]
    const noted = await server.database.change(sql.NOTE_REPLAYED, [...place, seq])
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
