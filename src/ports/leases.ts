// What one process alone may do at a time, of all that work on the same data.

export interface Leases {
  /**
   * Takes a lease, or prolongs it where this process has it. A process that stalls can outlive its
   * lease: what is done under one has to bear being done twice.
   *
   * @returns whether it is this process's for so long from now on
   */
  take(name: string, forMs: number): Promise<boolean>

  /** Gives a lease up before its end; nothing where this process has it not. */
  release(name: string): Promise<void>
}
