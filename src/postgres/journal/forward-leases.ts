// The streams that this process forwards: leased for some seconds, renewed every second, lost to
// another process when this one stalls. Only this process knows how far each is claimed.

import { SECOND_MS } from '../../domain/time.ts'
import type { Clock } from '../../ports/system.ts'
import type { Database } from '../server/database.ts'
import * as sql from './journal-statements.ts'

/** A leased stream. */
export interface LeasedStream {
  readonly stream: number
  /** Different for each lease. */
  readonly fence: number
  claimedSeq: number
}

interface TakenRow {
  readonly stream: number
  readonly fence: number
  readonly seq: number
}

const RENEW_EVERY_MS = SECOND_MS

export class ForwardLeases {
  readonly #database: Database
  readonly #clock: Clock
  readonly #owner: string
  readonly #held = new Map<number, LeasedStream>()
  #takenAtMs = -Infinity

  constructor(database: Database, clock: Clock, owner: string) {
    this.#database = database
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
    for (const { stream } of await this.#database.rows<{ stream: number }>(sql.FIND_FREE)) {
      await this.#takeOne(stream)
    }
  }

  async #takeOne(free: number): Promise<void> {
    for (const row of await this.#database.rows<TakenRow>(sql.TAKE_LEASE, [free, this.#owner])) {
      const { stream, fence, seq } = row
      this.#held.set(stream, { stream, fence, claimedSeq: seq })
    }
  }

  /** Renews the leases, and drops the streams that were lost. */
  async renew(): Promise<void> {
    const { held } = this
    if (held.length === 0) return
    const rows = await this.#database.rows<{ stream: number }>(sql.RENEW_LEASES, placesOf(held))
    const renewed = new Set(rows.map(({ stream }) => stream))
    for (const one of held) if (!renewed.has(one.stream)) this.lose(one)
  }

  lose({ stream, fence }: LeasedStream): void {
    if (this.#held.get(stream)?.fence === fence) this.#held.delete(stream)
  }

  /** Gives up the leases of streams. */
  async leave(streams: readonly LeasedStream[]): Promise<void> {
    if (streams.length === 0) return
    await this.#database.change(sql.LEAVE_LEASES, placesOf(streams))
    for (const one of streams) this.lose(one)
  }
}

function placesOf(streams: readonly LeasedStream[]): [number[], number[]] {
  return [streams.map(({ stream }) => stream), streams.map(({ fence }) => fence)]
}
