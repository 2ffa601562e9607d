// Which ids follow a restore. The instance that the copy was made of may have gone on and given out
// ids that the copy does not know, so they continue far ahead of the highest one known. Whoever
// restores the same copy a second time knows nothing of what the first one gave out: a random
// number more keeps the two apart.
//
// Measurements in InfluxDB are not in a copy, and belong to whoever has their ids: the highest ones
// there are known as well.

import { randomInt } from 'node:crypto'

/** 0: none. */
export interface HighestIds {
  readonly userId: number
  readonly sensorId: number
}

export const NO_IDS: HighestIds = { userId: 0, sensorId: 0 }

export interface Jump {
  /** More than can have been given out since the copy was made. */
  readonly ids: number
  /** As many more at most; 0 where nothing can have been restored before. */
  readonly randomIds: number
}

/** The id after which they continue. */
export function idAfterRestore(knownIds: readonly number[], { ids, randomIds }: Jump): number {
  return Math.max(...knownIds) + ids + randomInt(randomIds + 1)
}
