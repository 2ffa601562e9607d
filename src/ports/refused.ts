// What can never be stored as it is, kept for senders that do not keep it: lines of line protocol,
// and rejected elements of batches.

/**
 * What of a line was refused for one reason, or a refused element, with what is needed to read it
 * again. A line that is refused in part for another reason is an entry of its own for that part.
 */
export interface Refused {
  readonly userId: number
  readonly tokenId: number
  /**
   * `cut-line`: a line that was too large, of which the beginning is kept, or several that cannot
   * be read; never retried.
   */
  readonly kind: 'line' | 'cut-line' | 'element'
  /** A line's bytes, one character each; an element as JSON. */
  readonly content: string
  /** Of a line: which of its fields were refused; the first one is 0. `null`: all of it. */
  readonly fields: readonly number[] | null
  /** Of a line: the unit of its time in nanoseconds, decimal. */
  readonly unitNs: string
  /** Of a line: the prefix of its serial number. */
  readonly serialNumberPrefix: string
  readonly reason: string
  readonly receivedAtMs: number
  /** The time that it has, where it was refused as ahead of its receipt; else `null`. */
  readonly aheadAtMs: number | null
  /**
   * How often it arrived; everything else describes the last time. Of lines without a time, only
   * the last one can be stored: nothing tells one that came twice from one that was sent twice.
   */
  readonly count: number
}

export interface RefusedEntry extends Refused {
  readonly id: number
  readonly userEmail: string
  readonly tokenName: string
}

/** What became of an entry that was retried. */
export interface RefusedRetry extends Pick<RefusedEntry, 'id' | 'count'> {
  /** Why it was refused again; `undefined`: it is stored. */
  readonly reason: string | undefined
}

/** Which entries to list. */
export interface RefusedListing {
  /** `undefined`: of all users. */
  readonly userId?: number | undefined
  readonly isOldestFirst: boolean
  /** Only those that come behind the one with this id. */
  readonly afterId?: number
  readonly limit: number
}

/** What was refused as ahead of its receipt, by at most so much, first between two others. */
export interface AheadRefused {
  /** Ids of entries; the first one is not meant. */
  readonly afterId: number
  readonly throughId: number
  readonly aheadMsMax: number
}

/** A series of line protocol without a temperature. */
export interface SkippedSeries {
  readonly userId: number
  readonly series: string
  /** Its last line, or the beginning of it; its bytes, one character each. */
  readonly line: string
  /** How often it came. */
  readonly count: number
  readonly lastAtMs: number
}

/** A skipped series as it is listed. */
export interface SkippedEntry extends Omit<SkippedSeries, 'series'> {
  readonly userEmail: string
}

export interface RefusedCounts {
  readonly count: number
  /** How many were dropped to make room for newer ones. */
  readonly dropped: number
}

export interface RefusedReader {
  /** By user, the latest first. @param userId `undefined`: of all users */
  listSkipped(limit: number, userId?: number): Promise<readonly SkippedEntry[]>
  countSkipped(userId?: number): Promise<number>
  /** Whether a token has ever stored a temperature by line protocol. */
  hasStoredLines(tokenId: number): Promise<boolean>
  /** In the order of their ids, which is that in which they first arrived. */
  listRefused(listing: RefusedListing): Promise<readonly RefusedEntry[]>
  /** In the order of their ids. */
  listAheadRefused(ahead: AheadRefused, limit: number): Promise<readonly RefusedEntry[]>
  /** @param userId `undefined`: of all users */
  countRefused(userId?: number): Promise<RefusedCounts>
}

/** Each call is durable when it resolves. */
export interface RefusedWriter {
  /** Adds counts. Beyond `skippedSeriesMax`, the user's longest unseen series are dropped. */
  noteSkipped(skipped: readonly SkippedSeries[]): Promise<void>
  /** A token has stored a temperature by line protocol. */
  noteStoredLines(tokenId: number): Promise<void>
  /**
   * Keeps equal content of a user once. Beyond the limits, the oldest entries of the user who has
   * most are dropped.
   */
  keepRefused(refused: readonly Refused[]): Promise<void>
  /**
   * Deletes entries that are stored, and notes of the others why not. One
   * that has arrived again meanwhile, `count` tells, stays as it is. Makes room as `keepRefused`
   * does. @returns how many are deleted as stored
   */
  noteRefusedRetries(retries: readonly RefusedRetry[]): Promise<number>
  /** Deletes entries: those with these ids, or all of them. @returns how many */
  dropRefused(ids: readonly number[] | undefined): Promise<number>
}
