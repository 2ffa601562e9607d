// Counting what callers do, each against an allowance for a window of time.

export interface RateCounters {
  /** @param name of the counter, the same in every process */
  open(name: string, allowance: RateAllowance): RateCounter
}

export interface RateAllowance {
  readonly points: number
  /** A window begins with the first point that is counted. */
  readonly windowMs: number
}

export interface RateCounter {
  /**
   * Counts points of a key, beyond the allowance too. What another process counts is in it within
   * half a second.
   *
   * @returns the key's window, these points included
   */
  count(key: string | number, points: number): Promise<RateState>
}

export interface RateState {
  readonly consumedPoints: number
  /** Of the allowance; 0 beyond it. */
  readonly remainingPoints: number
  /** Until the window ends. */
  readonly msBeforeNext: number
}
