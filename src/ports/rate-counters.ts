// Counting what callers do, against an allowance per period.

export interface RateCounters {
  /** @param name of the counter, the same in every process */
  open(name: string, allowance: RateAllowance): RateCounter
}

export interface RateAllowance {
  readonly points: number
  /** It begins with the first point counted. */
  readonly periodMs: number
}

export interface RateCounter {
  /**
   * Counts points for a key, even beyond the allowance. Counts of other processes are included
   * within half a second.
   *
   * @returns the key's period, including these points
   */
  count(key: string | number, points: number): Promise<RateState>
}

export interface RateState {
  readonly consumedPoints: number
  /** What is left of the allowance; at least 0. */
  readonly remainingPoints: number
  /** Time until the period ends. */
  readonly msBeforeNext: number
}
