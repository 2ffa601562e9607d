// Tasks that only one process may do at a time, among all that work on the same data.

export interface Leases {
  /**
   * Acquires a lease, or renews one that this process holds. A process that stalls can outlive its
   * lease, so work done under a lease must bear being done twice.
   *
   * @returns whether this process holds it for that long from now on
   */
  take(name: string, forMs: number): Promise<boolean>

  /** Releases a lease early; does nothing if this process does not hold it. */
  release(name: string): Promise<void>
}
