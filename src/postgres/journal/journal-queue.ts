// JournalQueue on PostgreSQL, for the streams of one server. The process that leases a stream
// forwards it, and alone knows what it has claimed. If it loses the lease, another process begins
// after the last row recorded as forwarded: it writes some rows again, which changes nothing.

import { setTimeout as pause } from 'node:timers/promises'
import { toSetAsideOf } from '../../domain/measurement-columns.ts'
import { SECOND_MS } from '../../domain/time.ts'
import { shardOfStream } from '../../domain/shard.ts'
import type {
  ClaimedBatch,
  JournalBatch,
  JournalPlace,
  JournalQueue,
  Written,
} from '../../ports/journal-queue.ts'
import type { Clock, Log } from '../../ports/system.ts'
import type { Sql } from '../server/database.ts'
import type { ShardServer, ShardServers } from '../server/shard-servers.ts'
import { PostgresLeases } from '../shared/leases.ts'
import { ForwardLeases } from './forward-leases.ts'
import type { LeasedStream } from './forward-leases.ts'
import type { PostgresForwardProgress } from './forward-progress.ts'
import { pruneJournal } from './journal-pruning.ts'
import { readBatch } from './journal-rows.ts'
import type { LeasedBatch } from './journal-rows.ts'
import * as sql from './journal-statements.ts'

interface Collaborators {
  readonly server: ShardServer
  readonly servers: ShardServers
  readonly progress: PostgresForwardProgress
  readonly clock: Clock
  readonly log: Log
}

const RETRY_MS = SECOND_MS
const UPKEEP_EVERY_MS = SECOND_MS
const LOOK_EVERY_MS = SECOND_MS / 4

interface NextStream {
  readonly stream: number
  /** When its next row was committed. */
  readonly atMs: number
}

export class PostgresJournalQueue implements JournalQueue {
  readonly #with: Collaborators
  readonly #leases: ForwardLeases
  readonly #taskLeases: PostgresLeases
  readonly #upkeep: NodeJS.Timeout
  #isClosed = false
  #wake: (() => void) | undefined

  /** @param owner names this process */
  constructor(collaborators: Collaborators, owner: string) {
    const { server, servers, clock } = collaborators
    this.#with = collaborators
    this.#leases = new ForwardLeases(server, clock, owner)
    this.#taskLeases = new PostgresLeases(servers.main, server.shards)
    this.#upkeep = setInterval(() => void this.#tend(), UPKEEP_EVERY_MS).unref()
  }

  /** Wakes the forwarder: this process has committed rows. */
  notify(): void {
    this.#wake?.()
  }

  async claim(measurementsMax: number): Promise<ClaimedBatch | undefined> {
    return this.#persist(async () => {
      const { database, shards } = this.#with.server
      const heads = await database.rows<JournalPlace>(sql.READ_HEADS, [shards])
      const leased = await this.#nextStream(heads)
      if (leased === undefined) return undefined
      const { stream, fence, claimedSeq: seq } = leased
      const range = { stream, seq, throughSeq: Number.MAX_SAFE_INTEGER }
      const batch = await readBatch(database, range, measurementsMax)
      if (batch === undefined) return undefined
      leased.claimedSeq = batch.place.seq
      return { ...batch, place: { ...batch.place, fence } }
    })
  }

  async noteReadable(batch: JournalBatch): Promise<void> {
    const { server, progress } = this.#with
    const { stream, fence } = batch.place as LeasedBatch['place']
    // A process that has lost the lease may have written nothing.
    const isOurs = await this.#persist(() =>
      server.database.rows(sql.IS_LEASED, [shardOfStream(stream), stream, fence]),
    )
    if (isOurs?.length === 1) progress.noteReadable(batch.place, batch.measurements.count)
  }

  async settle(batch: JournalBatch, written: Written): Promise<void> {
    const { server, progress } = this.#with
    const { stream, seq, fence } = batch.place as LeasedBatch['place']
    const toSetAside = toSetAsideOf(batch.measurements, written.setAside)
    const shard = shardOfStream(stream)
    const isOurs = await this.#persist(async () => {
      const ids = await this.#takeIds(toSetAside.length)
      return server.database.transaction(async (transaction) => {
        const noted = await transaction.change(sql.NOTE_FORWARDED, [shard, stream, fence, seq])
        if (noted > 0) await this.#setAside(transaction, shard, toSetAside, ids)
        return noted > 0
      })
    })
    const leased = this.#leases.find(stream, fence)
    if (isOurs === true) {
      if (leased !== undefined) leased.settledSeq = Math.max(leased.settledSeq, seq)
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

  /** Of what is to be set aside. */
  async #takeIds(count: number): Promise<readonly number[]> {
    if (count === 0) return []
    const { main } = this.#with.servers
    const taken = await main.rows<{ id: number }>(sql.TAKE_SET_ASIDE_IDS, [count])
    return taken.map(({ id }) => id)
  }

  async #setAside(
    transaction: Sql,
    shard: number,
    measurements: ReturnType<typeof toSetAsideOf>,
    ids: readonly number[],
  ): Promise<void> {
    const nowMs = this.#with.clock.nowMs()
    for (const [at, { sensorId, measuredAtMs, tieBreakNs, ...why }] of measurements.entries()) {
      const sensor = [shard, sensorId]
      const [live] = await transaction.rows<{ userId: number }>(sql.KEEP_SENSOR, sensor)
      if (live === undefined) continue
      const place = [...sensor, live.userId, measuredAtMs, tieBreakNs]
      await transaction.change(sql.SET_ASIDE, [
        ...place,
        why.tempCelsius,
        why.reason,
        nowMs,
        ids[at],
      ])
    }
  }

  async #nextStream(heads: readonly JournalPlace[]): Promise<LeasedStream | undefined> {
    await this.#leases.take(false)
    const next = await this.#oldestStream(heads)
    if (next !== undefined) return next
    await this.#leases.take(true)
    return this.#oldestStream(heads)
  }

  /** The leased stream whose next row is the oldest. */
  async #oldestStream(heads: readonly JournalPlace[]): Promise<LeasedStream | undefined> {
    const last = new Map(heads.map(({ stream, seq }) => [stream, seq]))
    const { held } = this.#leases
    const waiting = held.filter(({ stream, claimedSeq }) => (last.get(stream) ?? 0) > claimedSeq)
    let oldest: NextStream | undefined
    for (const [shard, own] of Map.groupBy(waiting, (one) => shardOfStream(one.stream))) {
      const [next] = await this.#with.server.database.rows<NextStream>(sql.NEXT_STREAM, [
        shard,
        own.map(({ stream }) => stream),
        own.map(({ claimedSeq }) => claimedSeq),
      ])
      if (next !== undefined && next.atMs < (oldest?.atMs ?? Infinity)) oldest = next
    }
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
    const { database, shards } = this.#with.server
    const rows = await database.rows(sql.HAS_ROWS, [
      shards,
      held.map(({ stream }) => stream),
      held.map(({ claimedSeq }) => claimedSeq),
    ])
    return rows.length > 0
  }

  /** Upkeep; whatever fails is done the next time. */
  async #tend(): Promise<void> {
    try {
      await this.#leases.renew()
      await pruneJournal({ server: this.#with.server, leases: this.#taskLeases })
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
