// Shards: parts of a database that spreads its tables over machines, each whole on one of them.
// Every table that grows begins its keys with the shard, and all of a user is in one. On a single
// server there is one shard.

/** Shards are numbered up to 2^15, streams of a shard up to 2^16. */
const STREAM_BITS = 16

/** All shards of a database, by their numbers. */
export class Shards {
  readonly numbers: readonly number[]

  constructor(numbers: readonly number[]) {
    this.numbers = numbers
  }

  /** Whether the data are spread over servers. */
  get areSeveral(): boolean {
    return this.numbers.length > 1
  }

  /** The user's shard: evenly for ids in sequence, and never another one. */
  of(userId: number): number {
    const spread = Math.imul(userId, 0x9e37_79b1) >>> 0
    return this.numbers[Math.floor((spread * this.numbers.length) / 2 ** 32)] ?? 0
  }
}

export const ONE_SHARD = new Shards([0])

/**
 * Stands for the user's shard among the values of a statement: only the database knows which shards
 * it has.
 */
export class UserShard {
  readonly userId: number

  constructor(userId: number) {
    this.userId = userId
  }
}

export function shardOf(userId: number): UserShard {
  return new UserShard(userId)
}

/** The shard of a journal stream: its number tells. */
export function shardOfStream(stream: number): number {
  return stream >>> STREAM_BITS
}

/** The first stream of a shard; the next ones follow it without a gap. */
export function firstStreamOf(shard: number): number {
  return shard << STREAM_BITS
}
