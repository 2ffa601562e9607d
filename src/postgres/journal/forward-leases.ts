// The streams that this process forwards: leased for some seconds, renewed every second, lost to
// another process when this one stalls. Only this process knows how far each is claimed.

import { SECOND_MS } from '../../domain/time.ts'
import { shardOfStream } from '../../domain/shard.ts'
import type { Clock } from '../../ports/system.ts'
import type { ShardServer } from '../server/shard-servers.ts'
import * as sql from './journal-statements.ts'

/** A leased stream. */
export interface LeasedStream {
  readonly stream: number
  /** Different for each lease. */
  readonly fence: number
  claimedSeq: number
  settledSeq: number
}

interface TakenRow {
  readonly stream: number
  readonly fence: number
  readonly seq: number
}

const RENEW_EVERY_MS = SECOND_MS

export class ForwardLeases {
  readonly #server: ShardServer
  readonly #clock: Clock
  readonly #owner: string
  readonly #held = new Map<number, LeasedStream>()
  #takenAtMs = -Infinity

  constructor(server: ShardServer, clock: Clock, owner: string) {
    this.#server = server
    this.#clock = clock
    this.#owner = owner
  }

  get held(): readonly LeasedStream[] {
    return [...this.#held.values()]
  }

  find(stream: number, fence: number): LeasedStream | undefined {
    const held = this.#held.get(stream)
    return held?.fence === fence ? held : undefined
  }

  /** Takes streams that nobody forwards: at most once a second, unless some certainly wait. */
  async take(isCertain: boolean): Promise<void> {
    const nowMs = this.#clock.monotonicMs()
    if (!isCertain && nowMs < this.#takenAtMs + RENEW_EVERY_MS) return
    this.#takenAtMs = nowMs
    const { database, shards } = this.#server
    for (const { stream } of await database.rows<{ stream: number }>(sql.FIND_FREE, [shards])) {
      await this.#takeOne(stream)
    }
  }

  async #takeOne(free: number): Promise<void> {
    const values = [shardOfStream(free), free, this.#owner]
    for (const row of await this.#server.database.rows<TakenRow>(sql.TAKE_LEASE, values)) {
      const { stream, fence, seq } = row
      this.#held.set(stream, { stream, fence, claimedSeq: seq, settledSeq: seq })
    }
  }

  /** Renews the leases, and drops the streams that were lost. */
  async renew(): Promise<void> {
    for (const own of byShard(this.held)) {
      const rows = await this.#server.database.rows<{ stream: number }>(
        sql.RENEW_LEASES,
        placesOf(own),
      )
      const renewed = new Set(rows.map(({ stream }) => stream))
      for (const one of own) if (!renewed.has(one.stream)) this.lose(one)
    }
  }

  lose({ stream, fence }: LeasedStream): void {
    if (this.#held.get(stream)?.fence === fence) this.#held.delete(stream)
  }

  /** Gives up the leases of streams. */
  async leave(streams: readonly LeasedStream[]): Promise<void> {
    for (const own of byShard(streams)) {
      await this.#server.database.change(sql.LEAVE_LEASES, placesOf(own))
      for (const one of own) this.lose(one)
    }
  }
}

function byShard(streams: readonly LeasedStream[]): Iterable<readonly LeasedStream[]> {
  return Map.groupBy(streams, ({ stream }) => shardOfStream(stream)).values()
}

/** @param streams of one shard */
function placesOf(streams: readonly LeasedStream[]): [number, number[], number[]] {
  const shard = shardOfStream(streams[0]?.stream ?? 0)
  return [shard, streams.map(({ stream }) => stream), streams.map(({ fence }) => fence)]
}
