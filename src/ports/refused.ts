// What can never be stored as it is, kept for senders that do not keep it: lines of line protocol,
// and rejected elements of batches.

/** A refused line or element, with what is needed to read it again. */
export interface Refused {
  readonly userId: number
  readonly tokenId: number
  /** `cut-line`: a line that was too large, of which the beginning is kept; never retried. */
  readonly kind: 'line' | 'cut-line' | 'element'
  /** A line's bytes, one character each; an element as JSON. */
  readonly content: string
  /** Of a line: the unit of its time in nanoseconds, decimal. */
  readonly unitNs: string
  /** Of a line: the prefix of its serial number. */
  readonly serialNumberPrefix: string
  readonly reason: string
  readonly receivedAtMs: number
  /** When to retry; `null`: only when an operator says so. */
  readonly retryAtMs: number | null
}

export interface RefusedEntry extends Refused {
  readonly id: number
  /** How often it arrived; everything else describes the last time. */
  readonly count: number
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

export interface RefusedReader {
  /** By user, the latest first. */
  listSkipped(limit: number): Promise<readonly Omit<SkippedSeries, 'series'>[]>
  /** Whether a token has ever stored a temperature by line protocol. */
  hasStoredLines(tokenId: number): Promise<boolean>
  /** By id, after `afterId`. */
  listRefused(afterId: number, limit: number): Promise<readonly RefusedEntry[]>
  listDueRefused(nowMs: number, limit: number): Promise<readonly RefusedEntry[]>
  /** How many are kept, and how many were dropped to make room for newer ones. */
  countRefused(): Promise<{ readonly count: number; readonly dropped: number }>
}

/** Each call is one durable transaction. */
export interface RefusedWriter {
  /** Adds counts. Beyond `skippedSeriesMax`, the user's longest unseen series are dropped. */
  noteSkipped(skipped: readonly SkippedSeries[]): Promise<void>
  /** A token has stored a temperature by line protocol. */
  noteStoredLines(tokenId: number): Promise<void>
  /**
   * Keeps equal content of a user once. Beyond the limits, the user's oldest entries are dropped.
   */
  keepRefused(refused: readonly Refused[]): Promise<void>
  /** These were refused again: from now on they wait for an operator. */
  noteRefusedAgain(again: readonly Pick<RefusedEntry, 'id' | 'reason'>[]): Promise<void>
  /** Deletes entries: those with these ids, or all of them. @returns how many */
  dropRefused(ids: readonly number[] | undefined): Promise<number>
}
