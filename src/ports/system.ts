// What the core needs of the machine: time, a log, room on the disk, and counting what happens.

import type { ErrorCode } from '../domain/errors.ts'

export interface Clock {
  /** Wall time: may jump. For dates. */
  nowMs(): number
  /** Never goes back; its zero means nothing. For durations. */
  monotonicMs(): number
}

/** One structured line an event; values are plain and free of secrets. */
export interface Log {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  /** Degraded, said once a change of state. */
  warn(message: string, fields?: LogFields): void
  /** A person is needed. */
  error(message: string, fields?: LogFields): void
}

export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>

/** The volume of DATA_DIR. */
export interface StorageState {
  /** Whether it has so little room left that nothing may be accepted. */
  readonly isLow: boolean
  /** What it has and what it needs, for everyone; where it is, for operators. */
  describe(): { readonly detail: string; readonly hint: string }
}

/** What happens, counted for an operator's monitoring. Nothing of it fails, waits or blocks. */
export interface Metrics {
  /** A group of submissions was decided, and what is new is on disk. */
  noteGroup(group: CommittedGroup): void
  /** A batch has reached the measurement store. */
  noteForwarded(count: ForwardedCount): void
  /**
   * A request was answered.
   *
   * @param route method and pattern of its address, out of a bounded set: `GET /healthz`
   */
  noteAnswer(route: string, status: number): void
  /** A body of line protocol was decided. */
  noteLinePoints(points: LinePoints): void
  /** A submission was answered with a problem. */
  noteRefusedSubmission(code: ErrorCode): void
}

/** What was counted, and how things are, whenever it is asked for. */
export interface MetricsSource {
  render(): Promise<{ type: string; text: string }>
  /** Has live streams counted from now on. */
  watchStreams(count: () => number): void
}

/** What became of the measurements of a group. */
export interface CommittedGroup {
  readonly created: number
  readonly duplicate: number
  readonly conflict: number
  /** From handing it over to its being on disk. */
  readonly durationMs: number
}

/** What became of a body of line protocol. */
export interface LinePoints {
  /** Measurements. */
  readonly created: number
  readonly duplicates: number
  /** Points without a temperature. */
  readonly skipped: number
  /** Measurements of points without a time. */
  readonly unkeyed: number
  /** Lines. */
  readonly refused: number
}

export interface ForwardedCount {
  readonly accepted: number
  /** Refused by the store for good. */
  readonly rejected: number
}
