// What can never be stored as it is, kept for senders that do not keep it: lines of line protocol,
// and rejected elements of batches.

/** A line or an element that was refused, with what is needed to read it again. */
export interface Refused {
  readonly userId: number
  readonly tokenId: number
  readonly kind: 'line' | 'element'
  /** A line's bytes, one character each; an element as JSON. */
  readonly content: string
  /** Of a line: nanoseconds of the unit of its time, decimal. */
  readonly unitNs: string
  /** Of a line: what goes before its serial number. */
  readonly serialNumberPrefix: string
  readonly reason: string
  readonly receivedAtMs: number
  /** When it is to be tried again; `null`: only when an operator says so. */
  readonly retryAtMs: number | null
}

export interface RefusedEntry extends Refused {
  readonly id: number
  /** How often it came; all else is of the last time. */
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
  /** By user, the last ones first. */
  listSkipped(limit: number): Promise<readonly Omit<SkippedSeries, 'series'>[]>
  /** Whether a token has ever stored a temperature by line protocol. */
  hasStoredLines(tokenId: number): Promise<boolean>
  /** By id, those after `afterId`. */
  listRefused(afterId: number, limit: number): Promise<readonly RefusedEntry[]>
  listDueRefused(nowMs: number, limit: number): Promise<readonly RefusedEntry[]>
  /** How many there are, and how many had to make room for newer ones. */
  countRefused(): Promise<{ readonly count: number; readonly dropped: number }>
}

/** Each call is one durable transaction. */
export interface RefusedWriter {
  /** Counts are added. Beyond `skippedSeriesMax` the series of a user that came first go. */
  noteSkipped(skipped: readonly SkippedSeries[]): Promise<void>
  /** A token has stored a temperature by line protocol. */
  noteStoredLines(tokenId: number): Promise<void>
  /** Equal content of a user is kept once. Beyond the limits the user's oldest entries go. */
  keepRefused(refused: readonly Refused[]): Promise<void>
  /** They were refused again: they wait for an operator now. */
  noteRefusedAgain(again: readonly Pick<RefusedEntry, 'id' | 'reason'>[]): Promise<void>
  /** Deletes entries, all of them without ids. @returns how many */
  dropRefused(ids: readonly number[] | undefined): Promise<number>
}
